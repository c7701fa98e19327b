"""Limits whose load has gone, in a fleet of real processes: nothing is said of them and nothing looks at
them, and the next request is judged as exactly as the one before."""

import time

import pytest

from harness import http
from harness.processes import wait_until
from harness.sidecar import quota

pytestmark = pytest.mark.smoke

NAMES = [f"slow{i}" for i in range(40)]
SIDES = ("reported", "owned")
LAST_ANSWERS = 1  # seconds: an answer waits for others for 30 ms at most, the rest is for a slow machine


def awake(fleet):
    return sum(one.metric("weir_gossip_awake_limits", side=side) for one in fleet for side in SIDES)


def counter_messages(fleet):
    return sum(one.metric("weir_gossip_packets_total", direction="out", type=kind)
               for one in fleet for kind in ("delta", "total", "delta_answer"))


def level(sidecar, name):
    return sidecar.quota(name)["live"]["limits"][0]["level"]


def looks(fleet):
    return sum(one.metric("weir_gossip_sync_events_total", event="looks") for one in fleet)


def test_limits_without_load_cost_nothing_and_are_still_shared(world):
    fleet = world.fleet(3, [quota(name, "12r/h") for name in NAMES])
    for name in NAMES:
        for i in range(9):
            assert http.get(fleet[i % 3].address, f"/{name}/1").status == 200, name
    wait_until(lambda: awake(fleet) == 0, 15, "all limits rest")
    # The answer to the last message about a limit may leave after the limit has come to rest.
    time.sleep(LAST_ANSWERS)
    before = counter_messages(fleet), looks(fleet)
    time.sleep(3)  # the time in which each of them was asked about before, more than once
    assert (counter_messages(fleet), looks(fleet)) == before
    for name in NAMES[:10]:
        for _ in range(3):
            assert http.get(fleet[0].address, f"/{name}/1").status == 200, name
    for name in NAMES[:10]:
        for one in list(fleet)[1:]:
            wait_until(lambda: level(one, name) > 11, 10, f"{one.name} knows of {name}")
            assert http.get(one.address, f"/{name}/1").status == 429, name
