"""docs/command-line.md and the program agree on commands and flags, both ways."""

import re

from test_command_line import ROOT, weir

TEXT = (ROOT / "docs" / "command-line.md").read_text()
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Each key of the configuration is a flag of these two; tests/config holds those against their document.
WITH_SETTINGS = {("run",), ("validate",)}


def help_of(path):
    done = weir(*path, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def subcommands(text):
    part = text.split("Subcommands:", 1)
    return re.findall(r"^  ([a-z-]+) ", part[1].split("\n\n")[0], re.MULTILINE) if len(part) == 2 else []


def commands(path=()):
    """All leaves of the tree, with their help."""
    text = help_of(path)
    below = subcommands(text)
    if not below:
        yield path, text
    for name in below:
        yield from commands((*path, name))


def flags(text):
    """Those that the options' table lists, not the ones that examples mention."""
    return {flag for line in text.splitlines() if re.match(r"  -", line)
            for flag in FLAG.findall(line.split("  ")[1])}


def settings_flags():
    keys = re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.MULTILINE)
    return {"--" + key.replace(".", "-").replace("_", "-") for key in keys}


def test_every_command_is_documented_and_every_documented_one_exists():
    real = {" ".join(path) for path, _ in commands()}
    documented = set(re.findall(r"^\| `weir ([a-z -]+?)(?: [A-Z\[…].*?)?` \|", TEXT, re.MULTILINE))
    assert len(real) > 8
    assert documented == real


def test_every_flag_is_documented_and_every_documented_one_exists():
    known, real = settings_flags(), set()
    for path, text in commands():
        have = flags(text) - {"--help"}
        assert have or path in {("version",), ("help",), ("schema",), ("completion",)}, path
        real |= have
        if path in WITH_SETTINGS:
            have -= known
        missing = {flag for flag in have if not re.search(re.escape(flag) + r"(?![\w-])", TEXT)}
        assert not missing, f"weir {' '.join(path)}: docs/command-line.md lacks {sorted(missing)}"
    documented = set(FLAG.findall(TEXT)) - {"--help", "--version"}
    assert documented <= real, sorted(documented - real)
