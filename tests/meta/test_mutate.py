"""scripts/mutate: its parts are there and are tested by what it says, and it changes code, one place
at a time."""

import importlib.machinery
import importlib.util
import re
import sys

import pytest
from source_tree import ROOT

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)


def changed(line):
    return [new for _, new in mutate.mutants_of(line)]


@pytest.mark.parametrize("part", mutate.PARTS)
def test_a_part_has_files_and_tests(part):
    targets, files = mutate.PARTS[part]
    for file in files:
        assert list(mutate.mutants_of((ROOT / file).read_text())), file
    listings = {path.parent: path.read_text() for path in (ROOT / "tests").glob("*/CMakeLists.txt")}
    for target in targets:
        name, _, cases = target.partition(":")
        folders = [folder for folder, text in listings.items() if f"weir_test({name}\n" in text]
        assert len(folders) == 1, name
        sources = re.search(rf"weir_test\({name}\s+SOURCES\s+(.*?)\s+DEPS", listings[folders[0]], re.DOTALL).group(1)
        assert any(cases in source for source in sources.split()), target


def test_the_documentation_gives_a_figure_of_each_part():
    text = (ROOT / "docs" / "robustness.md").read_text()
    for part in mutate.PARTS:
        assert re.search(rf"^\| `{part}` .* \d+ of \d+", text, re.MULTILINE), part


def test_what_cannot_be_noticed_is_a_mutant_of_today():
    for each in mutate.EQUIVALENT:
        text = (ROOT / each["file"]).read_text()
        today = {(text.split("\n")[number].strip(), line.strip()) for number, line in mutate.mutants_of(text)}
        assert (each["line"], each["mutant"]) in today, each
        assert len(each["why"].split()) >= 5, each
        assert mutate.is_equivalent(each["file"], "  " + each["line"], "  " + each["mutant"])
        assert not mutate.is_equivalent(each["file"], each["line"], each["line"])


def test_one_place_is_changed_at_a_time():
    assert changed("if (a < b && c) {") == ["if (a <= b && c) {", "if (a < b || c) {"]
    assert changed("x = a == b ? 1 : 25;") == [
        "x = a != b ? 1 : 25;", "x = a == b ? 2 : 25;", "x = a == b ? 1 : 26;"]
    assert changed("return reject(Rejection::host);") == ["return reject(Rejection::none);"]
    assert changed("if (!done()) stop(true);") == ["if (!done()) stop(false);", "if (done()) stop(true);"]


def test_what_is_no_code_stays():
    for line in ("// a < b", "#if A < 10", '"a < b"', "static_assert(a < b);", "a();  // b == c",
                 "std::vector<int> list", "0x10", "1.5"):
        assert changed(line) == [], line
