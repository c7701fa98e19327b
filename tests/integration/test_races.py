"""Everything that threads of one sidecar share, at once: workers under load, edits, files read
again, scrapes, a drain. Made for the thread sanitizer, which judges it; without it the test says
that nothing fails meanwhile."""

import time

import pytest

from harness import http
from harness.load import Load, plan, scaled, stream
from harness.sidecar import quota

pytestmark = [pytest.mark.races, pytest.mark.smoke]

# Time for a balancer, as by default: the load goes on while one drains.
WORKERS = {"workers": 4, "access_log": "all", "drain": {"keep_accepting": "3s"}}
ROUNDS = 8


def quotas(rate):
    return [quota("root", "100000r/s"), quota("{bucket}", rate, parent="root"),
            quota("shed", "20r/s", parent="root")]


def disturb(fleet, round_):
    """One of each thing that the control thread does to what the workers read."""
    fleet[0].command("quota", "set", f"extra{round_}", "--rate", "5r/s", "--parent", "root")
    fleet[1].write_quotas(quotas(f"{50_000 + round_}r/s"), generation=round_ + 2)
    fleet[2].reload()
    for one in fleet:
        assert http.get(one.status, "/metrics").status == 200
        one.api("/v1/quotas/shed")
    # A name of its own each time: instances are made while others are checked.
    for i in range(20):
        http.get(fleet[round_ % 3].address, f"/new-{round_}-{i}/x")


@pytest.mark.slow
def test_load_edits_reloads_scrapes_and_a_drain_at_once(world, folder):
    fleet = world.fleet(3, quotas("50000r/s"), settings=WORKERS)
    streams = [stream("shed", scaled(200)), stream("one", scaled(600), "poisson"),
               stream("two", scaled(600), "poisson")]
    load = Load(folder, plan(fleet.targets(), streams, 40, seed=5))
    for round_ in range(ROUNDS):
        disturb(fleet, round_)
    fleet[0].command("drain")
    time.sleep(1)
    load.pause("a")
    assert fleet[0].stop() == 0
    time.sleep(1)
    result = load.stop()
    print(result.describe())
    assert result.total("errors") == 0 and result.total("other") == 0
    assert result.total("refused", "shed") > 0
    assert result.total("refused", "one") == 0 and result.total("refused", "two") == 0
    assert [one.stop() for one in fleet.sidecars[1:]] == [0, 0]
