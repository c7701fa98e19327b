"""A flood on one bucket that its own limit refuses costs its quiet sibling nothing, where the
parent's low burst has room for what a flood lets through at its onset."""

import time

import pytest

from harness.counters import disagreements
from harness.load import Load, LoadResult, plan, stream
from harness.sidecar import quota

# What must arrive, and what is offered so that a busy machine's arrivals still are as many.
FLOOD, OFFERED = 10_000, 12_000
# Where they are not, it is tried once more; then what the machine carries is the flood, if it is one.
ATTEMPTS, LEAST_FLOOD = 3, 3_000
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
    runs = LoadResult()
    for attempt in range(ATTEMPTS):
        result = Load(folder, plan(fleet.targets(), streams, DURATION_S, seed=7), f"load{attempt}").wait()
        runs.rows += result.rows
        # Not what the generator had planned, but what the fleet answered while the flood lasted.
        answered = sum(result.between(what, FLOOD_FROM_S, DURATION_S, "noisy") for what in ("ok", "refused"))
        answered /= DURATION_S - FLOOD_FROM_S
        lost = [(row["at_s"], row["target"], row["refused"]) for row in result.bins
                if row["stream"] == "quiet" and row["refused"]]
        by = {name: fleet.metric("weir_quota_refused_total", quota=name) for name in ("service", "noisy", "quiet")}
        print(f"{result.describe()}; {answered:.0f} answered a second; quiet refused at {lost}; refused by {by}")
        if answered >= FLOOD:
            break
        time.sleep(3)  # the buckets empty
    assert answered >= LEAST_FLOOD, f"this machine carries only {answered:.0f} requests a second"
    arrivals = world.origin.arrivals()
    assert runs.total("refused", "quiet") == 0
    for what in ("errors", "other"):
        assert runs.total(what) == 0
    assert runs.total("skipped", "quiet") == 0
    assert arrivals.total("quiet") == runs.total("offered", "quiet")
    assert disagreements(fleet, runs, arrivals, ["noisy", "quiet"], "service") == []
