"""The CI subset of the matrix; tests/integration/matrix.py runs all of it and writes the table, and
tests/sim/matrix_test.cpp all of it in virtual time."""

import pytest

from harness.lateness import on_time
from harness.matrix import CI_STEADY_S, CI_SUBSET, LATE_S, Outcome, full_matrix, run_case


def test_the_subset_holds_each_value():
    for dimension in ("sidecars", "arrivals", "factor", "spread", "parent"):
        assert ({getattr(case, dimension) for case in CI_SUBSET}
                == {getattr(case, dimension) for case in full_matrix()})


@pytest.mark.xdist_group("heavy")
@pytest.mark.parametrize("case", CI_SUBSET, ids=lambda case: case.id)
def test_case(case, folder):
    def run(attempt):
        place = folder / str(attempt)
        place.mkdir()
        outcome = run_case(case, place, CI_STEADY_S)
        print(outcome)
        return outcome, outcome.span_ns
    outcome, faults = on_time(run, Outcome.faults, LATE_S, lambda outcome: outcome.lag_s)
    assert faults == [], outcome
