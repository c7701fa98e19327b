"""What CI's stages count and run: a test that was skipped is told at the end, a sanitizer's report is a
failure, and `quick` is the short way."""

import re
import sys
import threading
import types

import pytest

from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tests"))

import stages  # noqa: E402
from threaded_tests import can_start_threads  # noqa: E402

REPORT = """<testsuites><testsuite>
<testcase name="passes"/>
<testcase name="fails"><failure message="x"/></testcase>
<testcase name="breaks at its end"><error message="y"/></testcase>
<testcase name="in a container"><skipped message="nobody may mount here"/></testcase>
</testsuite></testsuites>"""


def test_a_skipped_test_is_counted_with_its_reason(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    count = stages.junit_count(report, succeeded=False)
    assert (count.passed, count.failed, count.skipped) == (1, 2, 1)
    assert count.reasons == ["in a container: nobody may mount here"]


def test_the_end_names_what_was_skipped_before_the_closing_line(capsys, monkeypatch, tmp_path):
    skipping = stages.Stage("image", "the Dockerfile", 9, lambda stage: stages.Count(
        passed=1, skipped=1, reasons=["in a container: nobody may mount here"]))
    monkeypatch.setattr(stages, "STAGES", [skipping])
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["stages.py"])
    assert stages.main() == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "SKIPPED image: in a container: nobody may mount here",
        "1 skipped, for the reasons above", "1 passed, 0 failed"]


def test_each_report_of_a_sanitizer_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    stage = types.SimpleNamespace(name="asan")
    findings = stages.reports_of(stage)

    def run(_):
        (findings / "finding.17").write_text("LeakSanitizer: detected memory leaks")
        return stages.Count(passed=3)
    count = stages.without_reports(run)(stage)
    assert (count.passed, count.failed) == (3, 1)
    assert "detected memory leaks" in (tmp_path / "asan.log").read_text()
    # Those of an earlier run do not count.
    assert stages.without_reports(lambda _: stages.Count(passed=3))(stage).failed == 0


def test_reports_are_written_where_they_are_looked_for():
    stage = types.SimpleNamespace(name="one")
    for options in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        assert f"log_path={stages.reports_of(stage)}/" in stages.asan(stage)[options]
    assert f"log_path={stages.reports_of(stage)}/" in stages.tsan(stage)["TSAN_OPTIONS"]


def lanes_of(monkeypatch, tmp_path, *planned):
    """Runs the stages in the two lanes; tells in which order they began and ended, and the count."""
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    events = []

    def stage(name, needs, beside, failed):
        def run(_):
            events.append(f"{name} begins")
            meet.wait(10) if name in ("left", "right") else None
            events.append(f"{name} ends")
            return stages.Count(passed=1 - failed, failed=failed)
        return stages.Stage(name, "…", 9, run, needs, beside)

    meet = threading.Barrier(2)
    return events, stages.Run([stage(*each) for each in planned]).all_stages()


def test_stages_of_two_lanes_run_at_the_same_time_and_each_waits_for_what_it_needs(monkeypatch, tmp_path):
    events, total = lanes_of(monkeypatch, tmp_path, ("build", [], False, 0), ("left", ["build"], False, 0),
                             ("right", ["build"], True, 0), ("last", ["left"], True, 0))
    assert events[:2] == ["build begins", "build ends"]
    assert sorted(events[2:4]) == ["left begins", "right begins"]
    assert events[-2:] == ["last begins", "last ends"]
    assert (total.passed, total.failed) == (4, 0)


def test_what_needs_a_stage_that_failed_does_not_run_and_counts_as_failed(monkeypatch, tmp_path):
    events, total = lanes_of(monkeypatch, tmp_path, ("build", [], False, 1), ("beside", ["build"], True, 0))
    assert events == ["build begins", "build ends"]
    assert (total.passed, total.failed) == (0, 2)


def test_what_a_stage_needs_stands_before_it_in_the_list():
    names = [stage.name for stage in stages.STAGES]
    for number, stage in enumerate(stages.STAGES):
        assert set(stage.needs) <= set(names[:number]), stage.name


def test_a_lane_whose_runner_throws_is_a_failure_and_the_others_end(monkeypatch, tmp_path):
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    broken = stages.Stage("broken", "…", 9, lambda _: 1 / 0)
    after = stages.Stage("after", "…", 9, lambda _: stages.Count(passed=1), ["broken"], beside=True)
    total = stages.Run([broken, after]).all_stages()
    assert (total.passed, total.failed) == (0, 2)


def asked_of_pytest(monkeypatch, returncode, stderr=""):
    done = types.SimpleNamespace(returncode=returncode, stderr=stderr)
    monkeypatch.setattr(stages.subprocess, "run", lambda *_, **__: done)
    return stages.workers()


def test_workers_have_a_network_each_or_the_screen_says_why_they_are_few(capsys, monkeypatch):
    monkeypatch.setattr(stages, "CORES", 2)
    assert asked_of_pytest(monkeypatch, 0) == ["--tx", "6*popen//python=tests/integration/own_network"]
    assert capsys.readouterr().out == ""
    assert asked_of_pytest(monkeypatch, 1, "nobody may\n") == ["-n", "2"]
    assert capsys.readouterr().out == "    nobody may: only 2 tests at once, which share the machine's network\n"


# Whose figures are of the release build: see decision 0110.
BY_THE_CLOCK = {"test_broken_limiter", "test_broken_parts", "test_endings", "test_fair", "test_isolation",
                "test_matrix", "test_metric_values", "test_moving_load", "test_scrape", "test_throttled_owner",
                "test_udp_blocked"}


@pytest.mark.parametrize("path", sorted((ROOT / "tests/integration").glob("test_*.py")), ids=lambda path: path.stem)
def test_some_of_each_file_of_integration_run_under_the_address_sanitizer(path):
    marked = "mark.smoke" in path.read_text()
    assert marked == (path.stem not in BY_THE_CLOCK)
    text = next((ROOT / "docs/decisions").glob("0110-*")).read_text()
    assert marked or f"`{path.stem}`" in text


def test_quick_builds_and_runs_its_five_stages_and_is_no_part_of_ci():
    quick = stages.select(["quick"])
    assert [stage.name for stage in quick] == ["quick-build", "quick-unit", "quick-sim", "quick-integration", "quick-demo"]
    assert all(stage.needs == ["quick-build"] for stage in quick[1:])
    assert not {stage.name for stage in quick} & {stage.name for stage in stages.select([])}


def test_quick_runs_one_test_of_each_of_ten_files_of_integration():
    marks = {path.stem: len(re.findall(r"^@pytest\.mark\.quick$", path.read_text(), re.MULTILINE))
             for path in (ROOT / "tests/integration").glob("test_*.py")}
    assert sorted(marks.values())[-10:] == [1] * 10
    assert sum(marks.values()) == 10


@pytest.mark.parametrize("symbols,can", [
    ("                 U pthread_create@GLIBC_2.34\n", True),
    ("    U _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateE@GLIBCXX_3.4.22\n", True),
    ("    U pthread_mutex_lock@GLIBC_2.2.5\n    U _ZNSt6thread4joinEv@GLIBCXX_3.4.11\n", False)])
def test_a_program_with_threads_is_known_by_what_it_takes_from_libraries(symbols, can):
    assert can_start_threads(symbols) == can


def test_the_sanitizers_build_what_their_stages_run():
    """Each program that a test of the integration stages starts is a target of the build before them."""
    started = set(re.findall(r'program\("([\w-]+)"\)', "".join(
        path.read_text() for path in (ROOT / "tests/integration").rglob("*.py"))))
    assert {"weir-load", "weir-origin"} <= started
    assert started <= set(stages.ASAN_TARGETS)
