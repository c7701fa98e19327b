"""`weir key`: making a key, and a file's way through a rotation."""

import os
import re
import stat

import pytest

from test_command_line import weir

ID = re.compile(r"^  ([0-9a-f]{8})  (seals|accepted)$", re.MULTILINE)


def keys_in(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def ids(done):
    assert done.returncode == 0, done.stderr
    return ID.findall(done.stdout)


def test_a_new_key_is_for_its_owner_only_and_never_printed(tmp_path):
    path = tmp_path / "gossip.key"
    done = weir("key", path)
    assert [use for _, use in ids(done)] == ["seals"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (key,) = keys_in(path)
    assert re.fullmatch("[0-9a-f]{64}", key) and key not in done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["gossip.key"]
    assert ids(weir("key", "--show", path)) == ids(done)
    other = tmp_path / "other.key"
    assert ids(weir("key", other)) != ids(done) and keys_in(other) != [key]


def test_it_replaces_a_file_only_with_force(tmp_path):
    path = tmp_path / "gossip.key"
    first = ids(weir("key", path))
    done = weir("key", path)
    assert done.returncode == 1 and "is there already" in done.stderr and "--force" in done.stderr
    assert ids(weir("key", "--show", path)) == first
    assert ids(weir("key", "--force", path)) != first
    assert os.listdir(tmp_path) == ["gossip.key"]


def test_a_rotation_in_three_steps(tmp_path):
    path = tmp_path / "gossip.key"
    ((old, _),) = ids(weir("key", path))
    path.chmod(0o440)
    (first, second) = ids(weir("key", "--add", path))
    assert first == (old, "seals") and second[1] == "accepted"
    new = second[0]
    assert ids(weir("key", "--swap", path)) == [(new, "seals"), (old, "accepted")]
    assert ids(weir("key", "--drop", path)) == [(new, "seals")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o440
    assert len(keys_in(path)) == 1


def test_a_link_stays_a_link(tmp_path):
    real = tmp_path / "real"
    weir("key", real)
    link = tmp_path / "gossip.key"
    link.symlink_to(real)
    assert len(ids(weir("key", "--add", link))) == 2
    assert link.is_symlink() and len(keys_in(real)) == 2


@pytest.mark.parametrize("steps,message", [
    (["--swap"], "there is only one key"),
    (["--drop"], "there is only one key"),
    (["--add", "--add"], "there are two keys already"),
])
def test_steps_out_of_turn_change_nothing(tmp_path, steps, message):
    path = tmp_path / "gossip.key"
    weir("key", path)
    for step in steps[:-1]:
        weir("key", step, path)
    before = path.read_text()
    done = weir("key", steps[-1], path)
    assert done.returncode == 1 and message in done.stderr and str(path) in done.stderr
    assert path.read_text() == before


@pytest.mark.parametrize("arguments,code,message", [
    ([], 2, "file is required"),
    (["--add", "--swap", "x"], 2, "at a time"),
    (["--force", "--show", "x"], 2, "at a time"),
    (["--show", "missing.key"], 1, "missing.key"),
    (["no/such/directory/gossip.key"], 1, "cannot make the file"),
])
def test_errors(tmp_path, arguments, code, message):
    done = weir("key", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_a_bad_file_is_named_and_kept(tmp_path):
    path = tmp_path / "gossip.key"
    path.write_text("secret word\n")
    path.chmod(0o600)
    done = weir("key", "--add", path)
    assert done.returncode == 1 and "line 1" in done.stderr and "secret word" not in done.stderr
    assert path.read_text() == "secret word\n"


def test_the_help_teaches_the_rotation():
    done = weir("key", "--help")
    assert done.returncode == 0
    for word in ("--add", "--swap", "--drop", "without a gap", "ids"):
        assert word in done.stdout
