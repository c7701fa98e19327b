"""Ending under load: nothing fails."""

import time

import pytest

from harness import http
from harness.load import Load, plan, stream
from harness.processes import wait_until
from harness.sidecar import quota

pytestmark = [pytest.mark.smoke, pytest.mark.races]

QUOTAS = [quota("bucket", "100000r/s")]
# The default; elsewhere nobody has clients that come late.
LATE_CLIENTS = {"drain": {"keep_accepting": "3s"}}


def test_sigterm_under_load_fails_no_request(world, folder):
    """As in Kubernetes: drain, the balancer takes the sidecar out, then SIGTERM."""
    fleet = world.fleet(3, QUOTAS, delay_ms=20, settings=LATE_CLIENTS)
    load = Load(folder, plan(fleet.targets(), [stream("bucket", 300)], 8, seed=11))
    time.sleep(2)
    fleet[0].command("drain")
    wait_until(lambda: http.get(fleet[0].status, "/readyz").status == 503, 20, "readiness ends")
    time.sleep(0.5)
    load.pause("a")
    assert fleet[0].stop() == 0
    result = load.wait()
    print(result.describe())
    assert result.total("ok") == result.total("offered")


@pytest.mark.quick
def test_sigterm_alone_finishes_what_is_in_flight(world, folder):
    """No drain before, requests of 300 ms in flight: each is answered, the exit code is 0."""
    fleet = world.fleet(1, QUOTAS, delay_ms=300, settings=LATE_CLIENTS)
    load = Load(folder, plan(fleet.targets(), [stream("bucket", 200)], 6, seed=12))
    time.sleep(2)
    load.pause("a", until_idle=False)
    in_flight_from = time.monotonic()
    assert fleet[0].stop() == 0
    assert time.monotonic() - in_flight_from < 25
    result = load.stop()
    sent = result.total("offered") - result.total("skipped")
    print(result.describe())
    assert result.total("errors") == 0 and result.total("other") == 0
    assert result.total("ok") == sent


def state_of(sidecar, peer):
    return next(row["state"] for row in sidecar.api("/v1/peers")["peers"] if row["address"] == peer.gossip)


def test_the_peers_do_not_miss_a_sidecar_that_said_goodbye(world):
    fleet = world.fleet(3, QUOTAS, settings=LATE_CLIENTS)
    assert fleet[2].stop() == 0
    for one in (fleet[0], fleet[1]):
        # Gone by its own word; one that is missed would be dead.
        wait_until(lambda: state_of(one, fleet[2]) == "left", 20, f"{one.name} was told")
        assert fleet.live_peers(one) == 1
