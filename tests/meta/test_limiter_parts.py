"""The limiter is a façade over parts, each of which knows only those before it."""

from parts import Parts

LIMITER = Parts("limiter", [
    ("instance_store", []),
    ("windows", []),
    ("compiled_definitions", []),
    ("instance_records", []),
    ("instances", []),
    ("idle_search", []),
    ("eviction", ["name_chain.h"]),
    ("creation", []),
    ("adoption", []),
    ("fair_shedding", []),
    ("figures", []),
    ("definition_edit", []),
    ("waiting", []),
    ("fleet_port", []),
    ("fair_port", []),
    ("admission", ["check.cpp", "obtain.cpp", "outcome.cpp", "quick_check.cpp", "settle.cpp", "levels.h"]),
    ("limiter", []),
])


def test_a_part_includes_only_parts_before_it():
    LIMITER.check_order()


def test_what_is_below_the_parts_includes_none_of_them():
    LIMITER.check_what_is_below()


def test_an_arrow_to_a_later_part_would_be_seen():
    assert LIMITER.later_includes(0, [LIMITER.folder / "admission.h"]) != []
