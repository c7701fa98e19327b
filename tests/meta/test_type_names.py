"""One word for one thing: no two modules have a type of the same name at namespace scope."""

import re
from collections import defaultdict

from source_tree import ROOT, files_below

TYPE = re.compile(r"^(?:class|struct|enum class|enum|using) (?:alignas\([^)]*\) |\[\[\w+\]\] )?(\w+)(?: final)?(?: :[^;]*)?(?: \{| =|$)", re.MULTILINE)
SHARED = {
    "Json": "each module that writes JSON has a short name for the library's type",
    "Options": "what a module's main class is given: cluster::Options, engine::Options",
    "Rejection": "what is refused and why: gossip::Rejection of datagrams, http::Rejection of requests",
    "Statistics": "what a module counts: cluster::, engine::, proxy::Statistics",
}


def modules_by_type():
    modules = defaultdict(set)
    for path in files_below("src"):
        if path.suffix == ".h" and path.parent != ROOT / "src":
            for name in TYPE.findall(path.read_text()):
                modules[name].add(path.relative_to(ROOT / "src").parts[0])
    return modules


def test_types_of_two_modules_have_two_names():
    twice = {name: sorted(modules) for name, modules in modules_by_type().items() if len(modules) > 1}
    assert twice.keys() == SHARED.keys(), twice


def test_types_are_seen():
    assert {"Limiter", "Engine", "QuotaField", "Verdict", "Json"} <= modules_by_type().keys()
