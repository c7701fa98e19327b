"""Every story that has golden fingerprints is run by a test, so that its row cannot change unseen."""

import re

from source_tree import ROOT

SIM = ROOT / "tests" / "sim"


def stories_with_fingerprints():
    lines = (SIM / "golden_fingerprints.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if not line.startswith("#")}


def stories_that_tests_run():
    text = (SIM / "CMakeLists.txt").read_text()
    listed = re.search(r"^set\(stories\n(.*?)\)", text, re.DOTALL | re.MULTILINE).group(1).split()
    alone = re.findall(r"--story ([\w-]+) --golden", text)
    assert len(listed) == len(set(listed)), "a story is listed twice"
    return {*listed, *alone}


def test_every_story_with_fingerprints_is_run_and_no_other():
    assert stories_with_fingerprints() == stories_that_tests_run()
