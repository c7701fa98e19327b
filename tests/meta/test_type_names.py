"""One word for one thing: the name of a type at namespace scope is that of no other type, nested or not, in all of
src. Types nested in several classes may have the same name, because they are read within theirs."""

import re
from collections import defaultdict

from source_tree import ROOT, files_below

TYPE = re.compile(r"^( *)(?:class|struct|enum class|enum|using) (?:alignas\([^)]*\) |\[\[\w+\]\] )?(\w+)(?: final)?"
                  r"(?: : [^;{]*)?(?: \{| =|$)", re.MULTILINE)
SHARED = {"Json": "each module that writes JSON has a short name for the library's type"}


def types_of(text):
    """(name, whether it is at namespace scope, its line) of each type that is defined."""
    for found in TYPE.finditer(text):
        yield found.group(2), not found.group(1), text.count("\n", 0, found.start()) + 1


def named_twice(texts):
    """{name: places} of the names at namespace scope that another type has as well; `texts`: {file: text}."""
    outer, all_places = defaultdict(list), defaultdict(list)
    for file, text in texts.items():
        for name, at_namespace_scope, line in types_of(text):
            all_places[name].append(f"{file}:{line}")
            if at_namespace_scope:
                outer[name].append(f"{file}:{line}")
    return {name: sorted(all_places[name]) for name in outer if len(all_places[name]) > 1}


def sources():
    return {str(path.relative_to(ROOT)): path.read_text() for path in files_below("src") if path.suffix in (".h", ".cpp")}


def test_each_type_at_namespace_scope_has_a_name_of_its_own():
    twice = named_twice(sources())
    assert twice.keys() == SHARED.keys(), {name: twice[name] for name in twice if name not in SHARED}


def test_types_are_seen():
    seen = {name for text in sources().values() for name, outer, _ in types_of(text) if outer}
    assert {"Limiter", "Engine", "QuotaField", "Verdict", "Json", "NearLimit"} <= seen
    planted = {"a.h": "class One final : public Base {\n    struct Two {\n", "b.cpp": "using Two = int;\nenum class One {\n",
               "c.h": "struct Three {\n    struct Four {\n    };\n    using Five =\n", "d.h": "class Outer {\n    struct Four {\n"}
    assert named_twice(planted) == {"One": ["a.h:1", "b.cpp:2"], "Two": ["a.h:2", "b.cpp:1"]}
