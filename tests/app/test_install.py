"""What `cmake --install` puts where, and that it works there."""

import os
import pty
import re
import shutil
import signal
import subprocess
import threading

import pytest

from test_command_line import WEIR, wait_until, weir

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
                     "etc/weir/limits.yaml", "share/bash-completion/completions/weir",
                     "share/zsh/site-functions/_weir", "lib/sysusers.d/weir.conf", "share/fish/vendor_completions.d/weir.fish"}


def test_below_usr_the_settings_are_in_etc(tmp_path):
    install("/usr", DESTDIR=str(tmp_path))
    unit = (tmp_path / "usr/lib/systemd/system/weir.service").read_text()
    assert "ExecStart=/usr/bin/weir run --config /etc/weir/weir.yaml\n" in unit
    assert (tmp_path / "etc/weir/weir.yaml").exists() and not (tmp_path / "usr/etc").exists()
    assert "\n.I /etc/weir/weir.yaml\n" in (tmp_path / "usr/share/man/man1/weir.1").read_text()
    assert (tmp_path / "usr/share/zsh/vendor-completions/_weir").exists()


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


def test_the_unit(prefix):
    text = (prefix / "lib/systemd/system/weir.service").read_text()
    # The paths are those of this prefix, wherever the build folder was told that weir would go.
    assert "@" not in text
    assert f"ExecStart={prefix}/bin/weir run --config {prefix}/etc/weir/weir.yaml\n" in text
    assert "ExecStartPre" not in text  # a bad quota file does not keep the service from starting
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    unit = prefix / "lib/systemd/system/weir.service"
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert str(unit) not in done.stderr and done.returncode == 0, done.stderr


def in_bash(prefix, *words):
    script = prefix / "share/bash-completion/completions/weir"
    array = " ".join(f"'{word}'" for word in words)
    text = f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _weir; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=prefix, check=True,
                          env={"PATH": os.environ["PATH"]}).stdout.split()


def in_fish(prefix, *words):
    script = prefix / "share/fish/vendor_completions.d/weir.fish"
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{' '.join(words)}'"],
                          capture_output=True, text=True, cwd=prefix, check=True, timeout=60,
                          env={"PATH": f"{prefix}/bin:{os.environ['PATH']}", "HOME": str(prefix.parent)})
    assert done.stderr == ""
    return [line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()]


ZSH = """\
fpath=({prefix}/share/zsh/site-functions $fpath)
autoload -Uz compinit && compinit -u -D
zmodload zsh/complist
compadd() {{  # what would be offered, instead of an editor that shows it
    local -a offered
    builtin compadd -O offered "$@"
    print -rl -- $offered >> {output}
    builtin compadd "$@"
}}
zle-line-init() {{ touch {output}.ready; }}  # what is typed before would be the terminal's line
zle -N zle-line-init
"""


def in_zsh(prefix, *words):
    """zsh completes only in its editor, and so in a terminal; what it offers is written to a file."""
    output = prefix.parent / "zsh-offers"
    for old in (output, ready := prefix.parent / "zsh-offers.ready", done := prefix.parent / "zsh-done"):
        old.unlink(missing_ok=True)
    settings = prefix.parent / "zsh-home"
    settings.mkdir(exist_ok=True)
    (settings / ".zshrc").write_text(ZSH.format(prefix=prefix, output=output))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(prefix)
        os.execvpe("zsh", ["zsh", "-d", "-i"], {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "TERM": "dumb",
                                                "HOME": str(settings), "LISTMAX": "10000"})
    try:
        drain = threading.Thread(target=read_all, args=(terminal,), daemon=True)
        drain.start()
        wait_until(ready.exists)
        # Control-U and a command: the line that was completed is not run.
        os.write(terminal, f"{' '.join(words)}\t\x15touch {done}\r".encode())
        wait_until(done.exists)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        drain.join()
        os.close(terminal)
    return sorted(set(output.read_text().split("\n")[:-1])) if output.exists() else []


def read_all(terminal):
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # the shell has ended


@pytest.mark.parametrize("shell,completed", [("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)])
def test_completion_knows_commands_and_flags(prefix, shell, completed):
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    assert {"run", "quota", "help"} <= set(completed(prefix, "weir", ""))
    assert "--version" in completed(prefix, "weir", "--")
    assert completed(prefix, "weir", "va") == ["validate"]
    assert completed(prefix, "weir", "quota", "se") == ["set"]
    assert completed(prefix, "weir", "help", "quota", "ap") == ["apply"]
    assert completed(prefix, "weir", "quota", "set", "name", "--expires-") == ["--expires-in"]
    assert completed(prefix, "weir", "run", "--cluster-k") == ["--cluster-key-file"]
    assert [name.rstrip("/") for name in completed(prefix, "weir", "validate", "et")] == ["etc"]


def test_completion_of_another_shell():
    done = weir("completion", "tcsh")
    assert done.returncode == 2 and "'tcsh' must be bash, zsh or fish" in done.stderr


@pytest.mark.parametrize("script, step", [("postinst", "configure"), ("prerm", "remove"), ("postrm", "remove")])
def test_a_systemctl_that_fails_does_not_stop_the_scripts_of_the_package(tmp_path, script, step):
    """As for a unit that is masked: dpkg would keep the package half installed."""
    for name, code in (("systemctl", 1), ("systemd-sysusers", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    source = (BUILD.parents[1] / "packaging/debian" / script).read_text()
    text = source.replace("/run/systemd/system", str(tmp_path))
    assert text != source
    done = subprocess.run(["sh", "-c", text, script, step], capture_output=True, text=True, timeout=60,
                          env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0
    assert "weir: " in done.stderr
