"""Limits of windows at real sidecars. The origin counts what they have admitted."""

import time

import pytest

from harness import http
from harness.load import Load, plan, stream
from harness.processes import wait_until
from harness.sidecar import quota


def windowed(*limits, **more):
    made = quota("q", **more)
    made["limits"] = list(limits)
    return made


def live(sidecar):
    """The first limit of the quota as it is on this sidecar."""
    return sidecar.quota("q")["live"]["limits"][0]


def send(sidecar, requests):
    """How many of so many requests are admitted."""
    return sum(http.get(sidecar.address, "/q/x").status == 200 for _ in range(requests))


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (1, 0, 0), (0.6, 0.2, 0.2)], ids=["even", "one", "skewed"])
def test_a_fleet_admits_in_a_window_what_the_limit_says_wherever_the_load_is(world, folder, shares):
    fleet = world.fleet(3, [windowed({"window": "1000r/10m", "from": "first"})])
    load = stream("q", 600, "poisson", shares, path="/q/x")
    result = Load(folder, plan(fleet.targets(), [load], 8, seed=3)).wait()
    admitted = world.origin.arrivals().total()
    print(f"{result.describe()}; {admitted} admitted")
    assert result.total("errors") + result.total("other") == 0
    assert result.total("offered") > 4000
    assert 999 <= admitted <= 1002
    used = [sidecar for sidecar, share in zip(fleet, shares) if share > 0]
    assert len({live(sidecar)["window_end"] for sidecar in used}) == 1
    assert sum(sidecar.metric("weir_quota_window_admitted", quota="q") for sidecar in used) == admitted


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_what_was_admitted_survives_a_restart_of_each_sidecar(world, folder, killed):
    fleet = world.fleet(3, [windowed({"window": "900r/10m", "from": "first"})])
    time.sleep(2.5)  # the window begins after all have joined, and its owner has learnt
    for sidecar in fleet:
        assert send(sidecar, 100) == 100
        if killed:
            time.sleep(0.5)  # what was not told for so long may be lost
            sidecar.kill()
        else:
            sidecar.stop()
        sidecar.start()
        fleet.wait_together()
    assert world.origin.arrivals().total() == 300
    result = Load(folder, plan(fleet.targets(), [stream("q", 500, "poisson", path="/q/x")], 8, seed=4)).wait()
    admitted = world.origin.arrivals().total()
    print(f"{result.describe()}; {admitted} admitted")
    assert 890 <= admitted <= 909


@pytest.mark.smoke
def test_answers_name_one_second_in_which_the_window_ends(world):
    one, = world.fleet(1, [windowed({"window": "3r/h"}, {"rate": "100r/s"})], settings={"headers": {"rate_limit": ["x-ratelimit"]}})
    assert send(one, 5) == 3
    ends = set()
    for _ in range(300):
        before = int(time.time())
        answer = http.get(one.address, "/q/x")
        if int(time.time()) == before:
            ends.add(before + int(answer.headers["x-ratelimit-reset"]))
        assert answer.status == 429
        time.sleep(0.01)
    assert len(ends) == 1
    end = live(one)["window_end"]
    assert ends == {end}
    assert 0 < end - time.time() <= 3600
    text = one.command("quota", "get", "q")
    assert "requests/1h window" in text
    assert "window of 1h: admitted here 3 requests, of at most 3, ends in " in text


def test_the_next_window_begins_anew(world):
    one, = world.fleet(1, [windowed({"window": "5r/m", "from": "first"})])
    assert send(one, 9) == 5
    begun = time.monotonic()
    left = live(one)["ends_in_seconds"]
    assert 55 < left <= 60
    wait_until(lambda: send(one, 1) == 1, 90, "the next window has begun", 0.2)
    assert left - 1 <= time.monotonic() - begun <= left + 5
    assert live(one)["admitted_here"] == 1
