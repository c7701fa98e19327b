"""All load on one sidecar, another one every two seconds."""

import pytest

from harness.counters import disagreements
from harness.load import SECOND, Load, plan, stream
from harness.sidecar import quota
from harness.steadiness import fitted_rate

RATE = 1000


def moving(count, period_s, duration_s):
    """Share steps: everything on sidecar 0, then 1, …"""
    return [(i * period_s, [float(one == i % count) for one in range(count)])
            for i in range(int(duration_s / period_s) + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("arrivals", ["constant", pytest.param("poisson", marks=pytest.mark.long)])
def test_the_limit_holds_while_the_load_moves(world, folder, arrivals):
    fleet = world.fleet(3, [quota("bucket", f"{RATE}r/s")])
    steady_from_s, steady_s = 3, 20
    duration_s = steady_from_s + steady_s + 0.5
    load = stream("bucket", 2 * RATE, arrivals, moving(3, 2, duration_s))
    result = Load(folder, plan(fleet.targets(), [load], duration_s, seed=31)).wait()
    begin_ns = result.start_ns + steady_from_s * SECOND
    arrivals_seen = world.origin.arrivals()
    mean = fitted_rate(arrivals_seen.bins(begin_ns, steady_s, "bucket")) / RATE
    seconds = arrivals_seen.seconds(begin_ns, steady_s, "bucket")
    print(f"{result.describe()}; mean {mean:.4f}, seconds {seconds}")
    assert result.total("errors") + result.total("other") + result.total("skipped") == 0
    assert 0.98 <= mean <= 1.02
    assert disagreements(fleet, result, arrivals_seen, ["bucket"]) == []
