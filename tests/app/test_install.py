"""What `cmake --install` puts where, and that it works there."""

import os
import re
import shutil
import subprocess

import pytest

from test_command_line import WEIR, weir

BUILD = WEIR.parent.parent


def install(prefix, **variables):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "program"], check=True,
                   capture_output=True, timeout=60, env=os.environ | variables)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    install(path)
    return path


def test_the_files(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert files == {"bin/weir", "share/man/man1/weir.1", "lib/systemd/system/weir.service", "etc/weir/weir.yaml",
                     "etc/weir/limits.yaml", "share/bash-completion/completions/weir"}


@pytest.mark.parametrize("name", ["weir.yaml", "limits.yaml"])
def test_a_changed_file_of_settings_stays_as_it_is(tmp_path, name):
    install("/usr", DESTDIR=str(tmp_path))
    folder = next(path.parent for path in tmp_path.rglob("weir.yaml"))
    assert {path.name for path in folder.iterdir()} == {"weir.yaml", "limits.yaml"}
    ours = (folder / name).read_bytes()
    (folder / name).write_bytes(b"# the operator's\n")
    install("/usr", DESTDIR=str(tmp_path))
    assert (folder / name).read_bytes() == b"# the operator's\n"
    (folder / name).unlink()
    install("/usr", DESTDIR=str(tmp_path))
    assert (folder / name).read_bytes() == ours


def test_the_installed_settings_are_valid(prefix):
    done = subprocess.run([prefix / "bin" / "weir", "validate", "--strict", "--config", prefix / "etc/weir/weir.yaml"],
                          capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_man_page_names_each_command(prefix):
    page = (prefix / "share/man/man1/weir.1").read_text()
    commands = re.findall(r"^  ([a-z]+) ", weir("--help").stdout.split("Subcommands:")[1].split("\n\n")[0], re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        assert rf"\fB{command}\fR" in page, command
    assert "@" not in page


def test_the_unit(prefix, tmp_path):
    text = (prefix / "lib/systemd/system/weir.service").read_text()
    assert "@" not in text and "ExecStart=/" in text
    assert "ExecStartPre" not in text  # a bad quota file does not keep the service from starting
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    # The paths of this prefix, where the program is.
    unit = tmp_path / "weir.service"
    unit.write_text(re.sub(r"=/\S*/bin/weir", f"={prefix}/bin/weir", text))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert str(unit) not in done.stderr and done.returncode == 0, done.stderr


def completed(prefix, *words):
    script = prefix / "share/bash-completion/completions/weir"
    array = " ".join(f"'{word}'" for word in words)
    text = f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _weir; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=prefix, check=True,
                          env={"PATH": os.environ["PATH"]}).stdout.split()


def test_completion_knows_commands_and_flags(prefix):
    assert {"run", "quota", "help", "--version"} <= set(completed(prefix, "weir", ""))
    assert completed(prefix, "weir", "va") == ["validate"]
    assert completed(prefix, "weir", "quota", "se") == ["set"]
    assert completed(prefix, "weir", "quota", "set", "name", "--expires-") == ["--expires-in"]
    assert completed(prefix, "weir", "run", "--cluster-k") == ["--cluster-key-file"]
    assert completed(prefix, "weir", "validate", "et") == ["etc"]
    assert weir("completion", "tcsh").returncode == 2
