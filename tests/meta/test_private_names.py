"""Sources that are compiled as one (decision 0138) see each other's private functions. If two of them, or one of
them and a header, had a function of the same name, a call could silently choose the other one: the compiler
objects only where both are equally good. So the names differ. What is not looked at: headers of other
folders, and functions within classes."""

import re
from collections import defaultdict

import pytest

from source_tree import ROOT

FUNCTION = re.compile(r"^(?!using|template|namespace|static_assert|TEST_CASE|#|//|\})[^\s(=;{/][^(=;{/]*?\b(\w+)\(")
HEADER_FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?!using|template|namespace|static_assert|class|struct|#|//|\})"
                             r"[^\s(=;{/][^(=;{/]*?[\s*&](\w+)\(")
FAMILIES = {"to_json"}  # one function for each type, none of which converts into another
WORD = re.compile(r"[\w./-]+")


def private_functions(path):
    """Functions of unnamed namespaces; they begin in the first column, as clang-format lays them out."""
    names, inside = set(), False
    for line in path.read_text().splitlines():
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace") and line == "}  // namespace":
            inside = False
        elif inside and (found := FUNCTION.match(line)):
            names.add(found.group(1))
    return names


def header_functions(folder):
    """Free functions that the headers of a folder declare."""
    return {found.group(1) for path in sorted(folder.glob("*.h")) for line in path.read_text().splitlines()
            if (found := HEADER_FUNCTION.match(line))}


def united():
    """What is compiled as one: its name, its sources, and the folders whose headers it may include."""
    for file in sorted([*(ROOT / "src").rglob("CMakeLists.txt"), *(ROOT / "tests").rglob("CMakeLists.txt")]):
        for name, arguments in re.findall(r"weir_(?:module|test)\(\s*(\w+)([^)]*)\)", file.read_text()):
            lists, key = defaultdict(list), ""
            for word in WORD.findall(arguments):
                key, is_key = (word, True) if word.isupper() else (key, False)
                if not is_key and word.endswith(".cpp"):
                    lists[key].append(word)
            sources = [file.parent / source for source in lists["SOURCES"] if source not in lists["APART"]]
            folders = {file.parent, ROOT / "src" / file.parent.name}
            if len(sources) < 2:
                continue  # nothing is compiled together with it
            yield pytest.param(sources, folders, id=f"{file.parent.name}-{name}")


@pytest.mark.parametrize("sources, folders", united())
def test_private_functions_have_names_of_their_own(sources, folders):
    owners = defaultdict(set)
    for source in sources:
        for name in private_functions(source):
            owners[name].add(source.name)
    shared = {name: sorted(files) for name, files in owners.items() if len(files) > 1}
    assert shared == {}, "name them apart, or, in a test, list the source as APART"
    declared = set().union(*(header_functions(folder) for folder in folders))
    assert {name: sorted(files) for name, files in owners.items() if name in declared - FAMILIES} == {}


def test_every_module_is_looked_at():
    assert len(list(united())) > 30


def test_private_functions_are_seen(tmp_path):
    source = tmp_path / "one.cpp"
    source.write_text("namespace weir {\nnamespace {\n\nint first(int a) { return a; }\n"
                      "std::vector<int> second(\n    int a) {\n    return third(a);\n}\n}  // namespace\n"
                      "int fourth() { return 4; }\n}  // namespace weir\n")
    assert private_functions(source) == {"first", "second"}
