"""The harness itself: a test whose processes end badly fails, for a sanitizer tells of a leak at the end."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.paths import RUNS
from harness.processes import Process, bad_endings, wait_until

# Ends at SIGTERM as told: like weir, at once and with 1 when told a second time.
PROGRAM = """
trap 'trap "exit 1" TERM; sleep 0.3; echo "told: {text}" >&2; exit {code}' TERM
echo ready >&2
while :; do sleep 0.05; done
"""

# The fixtures of conftest.py, in a place of their own.
CONFTEST = """
here, __file__ = __file__, {path!r}
exec(open(__file__).read())
__file__ = here
"""
INNER = """
from test_endings import begin

def test_world_of_{code}(world):
    world.ending.callback(begin(world.folder, {code}, "leaks").terminate)
"""


def begin(folder, code=0, text="good bye", judged=True):
    log = folder / f"log-{len(list(folder.iterdir()))}"
    process = Process(["sh", "-c", PROGRAM.format(code=code, text=text)], log, judged=judged)
    wait_until(lambda: "ready" in process.log.read_text(), 20, "it has begun")
    return process


def test_who_ends_well_is_not_told_of(folder):
    process = begin(folder)
    process.ask_to_end()
    assert process.terminate() == 0  # it was asked once
    assert bad_endings(folder) == []


@pytest.mark.parametrize("code", [1, 23])
def test_another_code_is_told_of_with_the_end_of_the_log_and_once(folder, code):
    assert begin(folder, code, "detected memory leaks").terminate() == code
    told, = bad_endings(folder)
    assert f"ended with {code}" in told and "told: detected memory leaks" in told
    assert bad_endings(folder) == []


def test_who_ended_before_it_was_killed_is_told_of(folder):
    process = begin(folder, 134)
    process.ask_to_end()
    wait_until(lambda: not process.running(), 20, "it has ended")
    process.kill()
    assert len(bad_endings(folder)) == 1


def test_who_is_killed_on_purpose_or_not_ours_may_end_as_it_does(folder):
    begin(folder, 7).kill()
    assert begin(folder, 7, judged=False).terminate() == 7
    assert bad_endings(folder) == []


def test_who_still_runs_is_told_of_and_ended(folder):
    process = begin(folder)
    told, = bad_endings(folder)
    assert "still running" in told and not process.running()


def test_each_folder_is_looked_at_by_itself(folder):
    for name in ("one", "other"):
        (folder / name).mkdir()
        begin(folder / name, 5).terminate()
    assert len(bad_endings(folder / "one")) == 1
    assert len(bad_endings(folder)) == 1


@pytest.mark.parametrize("code, failed", [(0, False), (23, True)])
def test_a_test_fails_when_a_process_of_its_world_ends_badly(folder, code, failed):
    conftest = Path(__file__).resolve().with_name("conftest.py")
    (folder / "conftest.py").write_text(CONFTEST.format(path=str(conftest)))
    (folder / "test_inner.py").write_text(INNER.format(code=code))
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder)],
                          capture_output=True, text=True, timeout=120)
    shutil.rmtree(RUNS / f"test_world_of_{code}", ignore_errors=True)
    assert (done.returncode != 0) == failed, done.stdout
    assert ("1 passed, 1 error" in done.stdout and "told: leaks" in done.stdout) == failed, done.stdout
