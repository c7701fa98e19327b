"""docs/start-here.md, step by step: its files are written, its commands run in one shell, its outputs compared."""

import os
import re
import subprocess

from harness.paths import BIN, ROOT
from harness.processes import die_with_parent

import pytest

PAGE = (ROOT / "docs" / "start-here.md").read_text()
BLOCKS = re.compile(r"```(yaml|console)\n(.*?)```", re.DOTALL)
COUNT = re.compile(r"^( +)(\d+) (\d{3})$")
FEW = 6  # requests that a fleet's limit may let through or refuse too many


def steps():
    """("file", name, text) and ("command", command, the lines that it prints)."""
    for kind, text in BLOCKS.findall(PAGE):
        if kind == "yaml":
            yield "file", re.match(r"# (\S+)\n", text).group(1), text
            continue
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.replace("\\\n", "").partition("\n")
            yield "command", command, output.splitlines()


def script(folder):
    """A script that prints a line `@@ N` before each command, and the commands with their outputs."""
    lines, expected = ["set -m"], []  # so that jobs have numbers, as in a terminal
    for kind, what, more in steps():
        if kind == "file":
            (folder / what).write_text(more)
        else:
            lines += [f"echo '@@ {len(expected)}'", what]
            expected.append((what, more))
    return "\n".join(lines) + "\n", expected


def fits(shown, printed):
    counted, really = COUNT.match(shown), COUNT.match(printed)
    if counted:
        return really and counted.group(3) == really.group(3) and abs(int(counted.group(2)) - int(really.group(2))) <= FEW
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), printed)


# The commands that build and install, and the words by which a script or a test runs each.
RUN_ELSEWHERE = {
    "scripts/install-deps": ("scripts/demo", "\nscripts/install-deps\n"),
    "cmake --preset release": ("scripts/demo", "\ncmake --preset release\n"),
    "cmake --build --preset release --target weir": ("scripts/demo", "cmake --build build/release"),
    "cmake --install build/release --component program": (
        "tests/app/test_install.py", '"cmake", "--install", BUILD, "--prefix", prefix, "--component", "program"'),
    "(cd build/release": ("tests/package/test_package.py", '"cpack", "--config", BIN.parent'),
    "cpack)": ("tests/package/test_package.py", '"cpack", "--config", BIN.parent'),
    "apt-get install ./build/release/packages/weir_*.deb": (
        "tests/package/test_package.py", 'in_chroot(*INSTALL, "/weir.deb"'),
    # There is no systemd in a chroot: what the unit would start is started as its user.
    "systemctl enable --now weir": ("tests/package/test_package.py", 'text.split("ExecStart=")'),
}


def test_each_command_that_builds_or_installs_is_run_elsewhere():
    shown = []
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            shown += [part.strip() for part in line.partition("   #")[0].split("&&")]
    shown.remove('export PATH="$PWD/build/release/bin:$PATH"')  # so does the test below
    assert shown == list(RUN_ELSEWHERE)
    for command, (file, words) in RUN_ELSEWHERE.items():
        assert words in (ROOT / file).read_text(), command


@pytest.mark.smoke
def test_each_command_prints_what_the_page_shows(folder):
    text, expected = script(folder)
    assert len(expected) > 15
    env = {**{key: value for key, value in os.environ.items() if not key.startswith("WEIR_")},
           "PATH": f"{BIN}:{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "-c", text], cwd=folder, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=die_with_parent, start_new_session=True) as shell:
        try:
            output, errors = shell.communicate(timeout=90)
        finally:
            if shell.poll() is None:
                # The jobs have groups of their own, but are all in the session that began here.
                subprocess.run(["pkill", "-KILL", "--session", str(shell.pid)])
    printed = re.split(r"^@@ \d+\n", output, flags=re.MULTILINE)[1:]
    assert len(printed) == len(expected), output + errors
    for (command, shown), really in zip(expected, printed):
        lines = [line.rstrip() for line in really.splitlines() if not line.startswith("[")]  # what bash says of jobs
        assert len(lines) == len(shown) and all(map(fits, shown, lines)), (command, shown, lines, errors)
    assert shell.returncode in (0, 143)
