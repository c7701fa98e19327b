"""Limits of windows at real sidecars. The origin counts what they have admitted."""

import struct
import time
from datetime import datetime, timezone

import pytest

from harness import http
from harness.clock import build_clock
from harness.load import Load, plan, stream
from harness.network import Split
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
    limits = {"window": "3r/h", "from": "first"}, {"rate": "100r/s"}  # a window that does not end during the test
    one, = world.fleet(1, [windowed(*limits)], settings={"headers": {"rate_limit": ["x-ratelimit"]}})
    assert send(one, 5) == 3
    ends = {}  # when it was asked, by the second that the answer named
    for _ in range(300):
        before = time.time()
        answer = http.get(one.address, "/q/x")
        assert answer.status == 429 and "x-ratelimit-reset" in answer.headers, answer
        if int(time.time()) == int(before):
            ends.setdefault(int(before) + int(answer.headers["x-ratelimit-reset"]), []).append(round(before, 3))
        time.sleep(0.01)
    now, limit = time.time(), live(one)
    end = limit["window_end"]
    told = {second: (len(asked), asked[0], asked[-1]) for second, asked in ends.items()}
    assert set(ends) == {end}, f"{told}, and at {now} {limit}"
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


def run_by_clock(sidecars, library, offset):
    """Their wall clocks are ahead by the seconds in the file."""
    for one in sidecars:
        one.launcher = ["env", f"LD_PRELOAD={library}", f"WEIR_TEST_CLOCK={offset}"]


def away_from_the_end_of_the_hour():
    if 3600 - time.time() % 3600 < 40:
        time.sleep(41)


@pytest.mark.slow
def test_a_sidecar_whose_clock_is_an_hour_ahead_has_the_windows_of_the_others(world, folder):
    away_from_the_end_of_the_hour()
    library, offset = build_clock(folder)
    offset.write_bytes(struct.pack("q", 3600))
    fleet = world.fleet(3, [windowed({"window": "300r/h", "from": "calendar"})], start=False)
    odd = fleet[1]
    run_by_clock([odd], library, offset)
    fleet.start()
    wait_until(lambda: odd.metric("weir_gossip_clock_difference_seconds") > 3599, 20, "it knows the others' clocks")
    assert all(abs(one.metric("weir_gossip_clock_difference_seconds")) < 1 for one in fleet if one is not odd)
    time.sleep(1.5)  # until what was learnt from others is known
    result = Load(folder, plan(fleet.targets(), [stream("q", 300, "poisson", path="/q/x")], 6, seed=5)).wait()
    print(result.describe())
    assert 299 <= world.origin.arrivals().total() <= 303
    end = time.time() // 3600 * 3600 + 3600
    assert [live(one)["window_end"] for one in fleet] == [end] * 3


@pytest.mark.slow
def test_a_month_of_the_calendar_ends_in_its_last_second_everywhere(world, folder):
    library, offset = build_clock(folder)
    fleet = world.fleet(3, [windowed({"window": "90r/month", "from": "calendar"})], start=False)
    run_by_clock(fleet, library, offset)
    ends = int(datetime(2027, 3, 1, tzinfo=timezone.utc).timestamp())  # of a February
    shift = ends - 25 - int(time.time())
    offset.write_bytes(struct.pack("q", shift))
    fleet.start()
    # They joined in the middle of the month, so they ask before they admit much of it.
    wait_until(lambda: sum(send(one, 10) for one in fleet) == 0 and world.origin.arrivals().total() == 90,
               15, "the month is used up", 0.05)
    assert {live(one)["window_end"] for one in fleet} == {ends}
    assert time.time() + shift < ends, "the machine was too slow for this test"
    begun = []
    for one in fleet:
        wait_until(lambda: send(one, 1) == 1, 40, "the next month has begun", 0.02)
        begun.append(time.time() + shift - ends)
    print(begun)
    assert -0.1 <= begun[0] <= 1.5
    april = int(datetime(2027, 4, 1, tzinfo=timezone.utc).timestamp())
    assert {live(one)["window_end"] for one in fleet} == {april}


@pytest.mark.slow
def test_after_a_split_all_know_what_both_sides_have_admitted(world, folder):
    fleet = world.fleet(5, [windowed({"window": "1000r/10m", "from": "first"})])
    time.sleep(2.5)  # the window begins after all have joined, and its owner has learnt
    assert sum(send(one, 20) for one in fleet) == 100
    time.sleep(0.5)
    smaller, larger = list(fleet)[:2], list(fleet)[2:]
    with Split(smaller, larger):
        result = Load(folder, plan(fleet.targets(), [stream("q", 600, "poisson", path="/q/x")], 6, seed=6)).wait()
        print(result.describe())
    apart = world.origin.arrivals().total()
    print(f"{apart} admitted while apart")
    # The smaller side may use its parts, the larger one the rest of the whole.
    assert 990 <= apart <= 1000 + 400
    fleet.wait_together()
    time.sleep(3)
    assert sum(send(one, 100) for one in fleet) == 0
    assert world.origin.arrivals().total() == apart
