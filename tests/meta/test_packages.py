"""What is seen of an installation: each step, with how far it is, and errors; not a line per package."""

import subprocess

from source_tree import ROOT

SCRIPT = ROOT / "scripts" / "show-packages"
COUNT = 25


def shown(text):
    return subprocess.run([SCRIPT], input=text, capture_output=True, text=True, timeout=20, check=True).stdout


def installation():
    """As `apt-get -q install` tells it."""
    names = [f"lib{number}:amd64" for number in range(1, COUNT + 1)]
    return "\n".join([
        "Reading package lists...", "The following NEW packages will be installed:", "  lib1 lib2",
        f"1 upgraded, {COUNT - 1} newly installed, 0 to remove and 3 not upgraded.", "Need to get 12.3 MB of archives.",
        *(f"Get:{i} http://deb.test/debian bookworm/main amd64 {name} amd64 1.0-1 [52 kB]" for i, name in enumerate(names, 1)),
        "Fetched 12.3 MB in 2s (6 MB/s)", "Selecting previously unselected package lib1.", "Preparing to unpack .../lib1.deb ...",
        *(f"Unpacking {name} (1.0-1) ..." for name in names), *(f"Setting up {name} (1.0-1) ..." for name in names)])


def test_each_step_shows_how_far_it_is_in_few_lines():
    lines = shown(installation()).splitlines()
    for step in ("downloading", "unpacking", "setting up"):
        told = [line for line in lines if line.startswith(f"  {step} ")]
        assert told == [f"  {step} {number} of {COUNT}: lib{number}:amd64" for number in (1, 11, 21, COUNT)]
    assert "  Need to get 12.3 MB of archives." in lines
    assert len(lines) == 3 * 4 + 3


def test_a_broken_download_is_told():
    broken = "Err:3 http://deb.test/debian bookworm/main amd64 lib3 amd64 1.0-1\n  404  Not Found\nE: Unable to fetch"
    assert shown(broken).splitlines() == [broken.splitlines()[0], broken.splitlines()[2]]
    assert shown("") == ""
