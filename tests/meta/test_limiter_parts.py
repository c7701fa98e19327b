"""The limiter is a façade over parts, each of which knows only those before it."""

from source_tree import ROOT, includes

# In this order; the second column has the files that belong to a part besides its own two.
PARTS = [
    ("instance_store", []),
    ("compiled_definitions", []),
    ("instance_records", []),
    ("instances", []),
    ("eviction", ["name_chain.h"]),
    ("creation", []),
    ("adoption", []),
    ("figures", []),
    ("definition_edit", []),
    ("fleet_port", []),
    ("admission", ["check.cpp", "quick_check.cpp", "settle.cpp", "levels.h"]),
    ("limiter", []),
]
ORDER = {f"limiter/{part}.h": place for place, (part, _) in enumerate(PARTS)}


def files_of(part, others):
    names = [f"{part}.h", f"{part}.cpp", *others]
    return [path for path in (ROOT / "src" / "limiter" / name for name in names) if path.exists()]


def later_parts(place, files):
    return [f"{path.name} includes {included}" for path in files for included in includes(path)
            if ORDER.get(included, -1) > place]


def test_a_part_includes_only_parts_before_it():
    for place, (part, others) in enumerate(PARTS):
        files = files_of(part, others)
        assert files, part
        assert later_parts(place, files) == []


def test_what_is_below_the_parts_includes_none_of_them():
    parts = {path for part, others in PARTS for path in files_of(part, others)}
    for path in sorted((ROOT / "src" / "limiter").glob("*.*")):
        if path.suffix in (".h", ".cpp") and path not in parts:
            assert later_parts(-1, [path]) == [], path.name


def test_an_arrow_to_a_later_part_would_be_seen():
    assert later_parts(0, [ROOT / "src" / "limiter" / "admission.h"]) != []
