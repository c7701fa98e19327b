"""A flood on one bucket that its own limit refuses costs its quiet sibling nothing, where the
parent's low burst has room for what a flood lets through at its onset."""

import pytest

from harness.counters import disagreements
from harness.load import Load, plan, stream
from harness.sidecar import quota

# What must arrive, and what is offered so that a busy machine's arrivals still are as many.
FLOOD, OFFERED = 10_000, 12_000
FLOOD_FROM_S, DURATION_S = 2, 12


@pytest.mark.xdist_group("heavy")
def test_a_flood_costs_the_quiet_sibling_nothing(world, folder):
    fleet = world.fleet(3, [
        # Its low burst has room for the noisy one's high one: docs/choosing-limits.md.
        quota("service", "900r/s"),
        quota("noisy", "300r/s", parent="service"),
        quota("quiet", "300r/s", parent="service"),
    ])
    streams = [stream("noisy", [(0, 0), (FLOOD_FROM_S, OFFERED)]), stream("quiet", 100, "poisson")]
    result = Load(folder, plan(fleet.targets(), streams, DURATION_S, seed=7)).wait()
    print(result.describe())
    lost = [(row["at_s"], row["target"], row["refused"]) for row in result.bins
            if row["stream"] == "quiet" and row["refused"]]
    by = {name: fleet.metric("weir_quota_refused_total", quota=name) for name in ("service", "noisy", "quiet")}
    print(f"quiet refused at {lost}; refused by {by}")
    arrivals = world.origin.arrivals()
    # Not what the generator had planned, but what the fleet answered while the flood lasted.
    answered = sum(result.between(what, FLOOD_FROM_S, DURATION_S, "noisy") for what in ("ok", "refused"))
    answered /= DURATION_S - FLOOD_FROM_S
    assert answered >= FLOOD, f"this machine carries only {answered:.0f} requests a second"
    assert result.total("refused", "quiet") == 0
    for what in ("errors", "other", "skipped"):
        assert result.total(what, "quiet") == 0
        assert result.total(what, "noisy") == 0
    assert arrivals.total("quiet") == result.total("offered", "quiet")
    assert disagreements(fleet, result, arrivals, ["noisy", "quiet"], "service") == []
