"""Each planted bug has a guard, a name, and a fuzz target that CI demands it of; and only fuzz
targets carry them."""

import json
import re
import sys

from source_tree import ROOT, files_below

sys.path.insert(0, str(ROOT / "tests"))

import stages  # noqa: E402

HEADER = ROOT / "src" / "base" / "planted.h"


def bugs():
    listing = re.search(r"enum class Planted[^{]*\{(.*?)\};", HEADER.read_text(), re.DOTALL).group(1)
    return [name for name in re.findall(r"^\s*(\w+),", listing, re.MULTILINE) if name != "none"]


def test_each_planted_bug_is_asked_for_in_ci():
    assert sorted(stages.PLANTED) == sorted(bugs())
    names = re.findall(r'\{"(\w+)", Planted::(\w+)\}', (ROOT / "tests/fuzz/planted.cpp").read_text())
    assert sorted(names) == sorted((bug, bug) for bug in bugs())


def test_each_planted_bug_sits_in_one_guard():
    text = "".join(path.read_text() for path in files_below("src") if path != HEADER)
    assert {bug: len(re.findall(rf"planted\(Planted::{bug}\)", text)) for bug in bugs()} == dict.fromkeys(bugs(), 1)


def test_each_fuzz_target_has_a_bug_to_find():
    listing = (ROOT / "tests/fuzz/CMakeLists.txt").read_text()
    targets = {f"{name}_fuzz" for name in re.findall(r"^weir_fuzz\((\w+)", listing, re.MULTILINE)}
    assert targets == set(stages.PLANTED.values())


def test_only_the_preset_for_fuzzing_carries_them():
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    variables = {preset["name"]: preset.get("cacheVariables", {}) for preset in presets}
    assert [name for name, given in variables.items() if "WEIR_FUZZ" in given] == ["fuzz"]
    assert [name for name, given in variables.items() if "WEIR_PLANT_BUGS" in given] == ["fuzz"]
