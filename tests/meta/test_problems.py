"""docs/problems.md has every kind of problem with the words of the table in src/admin/problem.cpp."""

import re

from source_tree import ROOT

TABLE = (ROOT / "src" / "admin" / "problem.cpp").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
TESTS = "".join((ROOT / "tests" / "integration" / name).read_text(encoding="utf-8")
                for name in ("test_problems.py", "test_file_majority.py", "test_window_counts.py"))
ROW = re.compile(r'\{ProblemKind::(\w+),\s*"(\w+)",\s*"([^"]+)",\s*"([^"]+)",\s*seconds\(\d+\)\}')
# Its test takes longer: tests/integration/test_quota_memory.py has it.
NOT_IN_INTEGRATION = {"set_too_large"}


def kinds():
    return ROW.findall(TABLE)


def test_the_page_has_the_kinds_of_the_table_in_their_order():
    shown = re.findall(r"^\| `([a-z_]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE.split("## Kinds")[1], re.MULTILINE)
    assert len(shown) >= 13
    assert shown == [(label, meaning, remedy) for _, label, meaning, remedy in kinds()]


def test_labels_are_the_names_of_the_kinds():
    assert [label for name, label, *_ in kinds() if name != label] == []


def test_each_kind_is_made_by_a_real_sidecar():
    assert [label for _, label, *_ in kinds()
            if f'"{label}"' not in TESTS and label not in NOT_IN_INTEGRATION] == []
