"""The CI subset of the matrix; tests/integration/matrix.py runs all of it and writes the table."""

import pytest

from harness.matrix import CI_SUBSET, full_matrix, run_case


def test_the_subset_holds_each_value():
    for dimension in ("sidecars", "arrivals", "factor", "spread", "parent"):
        assert ({getattr(case, dimension) for case in CI_SUBSET}
                == {getattr(case, dimension) for case in full_matrix()})


@pytest.mark.xdist_group("heavy")
@pytest.mark.parametrize("case", CI_SUBSET, ids=lambda case: case.id)
def test_case(case, folder):
    outcome = run_case(case, folder)
    print(outcome)
    assert outcome.faults() == [], outcome
