"""Counts of windows kept on disk: by one sidecar, by a fleet that stops as a whole, and what is told
when all that knew them were lost. The origin counts what was admitted."""

import time

import pytest

from harness import http
from harness.load import Load, plan, stream
from harness.processes import wait_until
from harness.sidecar import quota


def windowed(name, limit):
    made = quota(name)
    made["limits"] = [limit]
    return made


def keep(sidecars):
    """Each sidecar gets a file of its own."""
    for one in sidecars:
        one.settings = {**one.settings, "snapshot": {"file": str(one.folder / f"snapshot-{one.name}")}}


def send(sidecar, requests, name="q"):
    """How many of so many requests are admitted."""
    return sum(http.get(sidecar.address, f"/{name}/x").status == 200 for _ in range(requests))


def wait_kept(sidecars, counts):
    """Waits until the files have so many counts, with all that was admitted by now."""
    def has(one):
        snapshot = one.api("/v1/config")["snapshot"]
        return snapshot["counts"] == counts and not snapshot["unsaved_counts"]
    time.sleep(0.5)  # what was admitted is told within a tenth of a second
    for one in sidecars:
        wait_until(lambda: has(one), 20, f"{one.name} has {counts} counts on its disk")


def problems(sidecar):
    return [problem for problem in sidecar.api("/v1/problems")["problems"] if problem["kind"] == "counts_missing"]


@pytest.mark.smoke
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_single_sidecar_goes_on_with_its_windows_after_a_restart(world, how):
    fleet = world.fleet(1, [windowed("q", {"window": "100r/h", "from": "first"})], start=False)
    keep(fleet)
    one, = fleet.start()
    assert send(one, 60) == 60
    end = one.quota("q")["live"]["limits"][0]["window_end"]
    if how == "stopped":
        one.stop()
    else:
        wait_kept([one], 1)
        one.kill()
    one.start()
    config = one.api("/v1/config")["snapshot"]
    assert config["loaded_counts"] >= 1
    assert send(one, 100) == 40
    assert one.quota("q")["live"]["limits"][0]["window_end"] == end


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_fleet_that_stops_as_a_whole_goes_on_with_its_windows(world, folder, how):
    fleet = world.fleet(3, [windowed("q", {"window": "900r/10m", "from": "first"})], start=False)
    keep(fleet)
    fleet.start()
    time.sleep(2.5)  # the window begins after all have joined, and its owner has learnt
    for sidecar in fleet:
        assert send(sidecar, 100) == 100
    if how == "stopped":
        fleet.stop()
    else:
        wait_kept(fleet, 3)
        for one in fleet:
            one.kill()
    fleet.start()
    result = Load(folder, plan(fleet.targets(), [stream("q", 500, "poisson", path="/q/x")], 8, seed=4)).wait()
    admitted = world.origin.arrivals().total()
    print(f"{result.describe()}; {admitted} admitted")
    assert 899 <= admitted <= 909
    for one in fleet:
        assert problems(one) == []


@pytest.mark.slow
def test_a_survivor_says_that_all_who_knew_the_counts_were_lost(world):
    names = [f"q{number}" for number in range(40)]
    fleet = world.fleet(5, [windowed(name, {"window": "1000r/h"}) for name in names])
    time.sleep(7)  # owners that were the same for five seconds knew everything
    for sidecar in fleet:
        assert sum(send(sidecar, 1, name) for name in names) == len(names)
    survivor, *lost = fleet
    for one in lost:
        one.kill()
    wait_until(lambda: problems(survivor), 30, "the survivor says so", 0.3)
    problem, = problems(survivor)
    assert "all owners were lost at once" in problem["problem"]
    assert "anchors" in problem["suggestion"]
    assert survivor.metric("weir_gossip_windows", side="uncertain") > 0
    assert survivor.metric("weir_gossip_sync_events_total", event="owners_lost") > 0
    assert send(survivor, 1, "q0") == 1


@pytest.mark.slow
def test_three_anchors_that_are_lost_together_bring_the_counts_back(world, folder):
    fleet = world.fleet(5, [windowed("q", {"window": "900r/10m", "from": "first"})], start=False)
    anchors, sidecars = list(fleet)[:3], list(fleet)[3:]
    keep(anchors)
    for anchor in anchors:
        anchor.settings["role"] = "anchor"
    fleet.start()
    time.sleep(7)  # owners that were the same for five seconds knew everything
    gone, stays = sidecars
    assert send(gone, 100) == send(stays, 100) == 100
    wait_kept(anchors, 2)
    gone.kill()
    for anchor in anchors:
        anchor.kill()
    wait_until(lambda: problems(stays), 30, "the only one that is left says that counts may be missing", 0.3)
    for anchor in anchors:
        anchor.start()
    gone.start()
    fleet.wait_together()
    wait_until(lambda: not problems(stays), 30, "the anchors have brought the counts back", 0.3)
    result = Load(folder, plan(fleet.targets(sidecars), [stream("q", 500, "poisson", path="/q/x")], 8, seed=4)).wait()
    admitted = world.origin.arrivals().total()
    print(f"{result.describe()}; {admitted} admitted")
    assert 899 <= admitted <= 909
