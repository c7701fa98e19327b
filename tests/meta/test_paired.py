"""What the tests of latencies with and without a fault call slower."""

import random
import sys

import pytest

from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness import paired  # noqa: E402
from harness.load import LoadResult  # noqa: E402

TARGETS = ["a", "b", "c"]


def result(whole_ms, faulty_ms):
    """A run in which each pair of phases has what the two functions give for p99."""
    rows = []
    for pair in range(paired.PAIRS):
        for target in TARGETS:
            for kind, milliseconds in (("whole", whole_ms()), ("faulty", faulty_ms())):
                rows.append({"stream": f"{kind}{pair}", "target": target, "p99_ms": milliseconds})
    return LoadResult(rows=rows)


@pytest.mark.parametrize("whole, faulty, slower", [
    (3, 5, True), (0.3, 1.4, True), (30, 32, True),  # by the millisecond, whatever it was before
    (3, 3.9, False), (0.2, 0.9, False), (5, 3, False)])
def test_slower_by_more_than_a_millisecond_is_slower(whole, faulty, slower):
    assert paired.slower([result(lambda: whole, lambda: faulty)], "p99_ms", TARGETS) == slower


def test_a_busy_machine_is_not_slower_and_two_milliseconds_more_show_on_a_quiet_one():
    for seed in range(200):
        noise = random.Random(seed)
        busy = result(*[lambda: noise.lognormvariate(2, 0.8)] * 2)  # 7 ms in the median, 2 to 30
        assert not paired.slower([busy], "p99_ms", TARGETS)
        quiet = result(lambda: noise.uniform(2.5, 3.5), lambda: noise.uniform(4.5, 5.5))
        assert paired.slower([quiet], "p99_ms", TARGETS)
