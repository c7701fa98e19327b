"""Callers that obtain many units at once from /v1/obtain, at three sidecars that share the limits."""

import http.client
import threading
import time

import pytest

from harness.ports import free_port
from harness.sidecar import awake, quota
from harness.steadiness import BINS_A_SECOND, fitted_rate


class Caller(threading.Thread):
    """Obtains without a pause, and counts what it was granted; a refusal is waited for shortly."""

    def __init__(self, check, name, wanted, until, minimum=0, pause_s=0.0, until_refused=False):
        super().__init__()
        self.until_refused = until_refused
        self.check, self.name_, self.wanted, self.until = check, name, wanted, until
        self.minimum, self.pause_s = minimum, pause_s
        self.granted, self.least, self.answers = 0, None, {200: 0, 429: 0}
        self.grants = []  # (when it came, how much)
        self.start()

    def run(self):
        host, port = self.check.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        while time.monotonic() < self.until and not (self.until_refused and self.answers[429]):
            connection.request("POST", f"/v1/obtain?quota={self.name_}&n={self.wanted}&minimum={self.minimum}")
            answer = connection.getresponse()
            body = answer.read()
            self.answers[answer.status] += 1
            if answer.status == 200:
                got = float(body.split(b":")[1].split(b",")[0])
                self.granted += got
                self.grants.append((time.monotonic(), got))
                self.least = got if self.least is None else min(self.least, got)
            time.sleep(0.005 if answer.status == 429 else self.pause_s)
        connection.close()


@pytest.fixture
def obtaining(world):
    def make(quotas):
        fleet = world.fleet(3, quotas, start=False)
        for sidecar in fleet:
            sidecar.check = f"127.0.0.1:{free_port()}"
            sidecar.settings = {**sidecar.settings, "check": {"listen": sidecar.check}}
        return fleet.start()

    return make


def run(fleet, seconds, *callers):
    """What callers (name, wanted, minimum, pause) at every sidecar are granted."""
    until = time.monotonic() + seconds
    running = [Caller(sidecar.check, name, wanted, until, minimum, pause)
               for sidecar in fleet for name, wanted, minimum, pause in callers]
    for caller in running:
        caller.join()
    return running


def rate(callers, from_s, to_s):
    """Granted a second between two instants, as the slope of what was granted: on that a machine that stands
    still for a moment hardly weighs."""
    bins = [0] * int((to_s - from_s) * BINS_A_SECOND)
    for caller in callers:
        for at_s, got in caller.grants:
            number = int((at_s - from_s) * BINS_A_SECOND)
            if 0 <= number < len(bins):
                bins[number] += got
    return fitted_rate(bins)


def total(callers, name=None):
    return sum(caller.granted for caller in callers if name in (None, caller.name_))


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["100r/s", {"rate": "100r/s", "low": "50r", "high": "50r"}])
def test_greedy_callers_at_three_sidecars_get_the_limit_and_no_more(obtaining, limit):
    fleet = obtaining([quota("q", limit)])
    started = time.monotonic()
    callers = run(fleet, 10, ("q", 1000, 0, 0))
    # The burst, and what travels of it: each of three may fill what it sees as free before it hears of the others.
    burst = sum(got for caller in callers for at_s, got in caller.grants if at_s < started + 3)
    assert burst <= 3 * 200 + 100 * 3.2
    assert rate(callers, started + 3, started + 10) == pytest.approx(100, rel=0.05)
    assert all(set(caller.answers) == {200, 429} for caller in callers)


@pytest.mark.slow
def test_two_leaves_share_their_parent_and_a_minimum_is_kept(obtaining):
    fleet = obtaining([quota("p", "200r/s"), quota("a", "150r/s", parent="p"), quota("b", "150r/s", parent="p"),
                       quota("z", "0r/s", parent="p")])
    started = time.monotonic()
    callers = run(fleet, 10, ("a", 50, 3, 0), ("b", 50, 3, 0), ("z", 5, 0, 0.05))
    assert rate(callers, started + 3, started + 10) == pytest.approx(200, rel=0.07)
    assert total(callers, "z") == 0
    for name in ("a", "b"):
        mine = [caller for caller in callers if caller.name_ == name]
        assert rate(mine, started + 3, started + 10) > 0.3 * 200
    assert min(caller.least for caller in callers if caller.least is not None) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("limit", [awake("100r/s"), "100r/s"], ids=["awake", "quiet"])
def test_near_its_limit_a_quota_grants_all_that_is_wanted(obtaining, limit):
    fleet = obtaining([quota("q", limit)])
    # Three times 28 in tens: eight tenths of the limit. Below it nothing is missing.
    callers = run(fleet, 6, ("q", 5, 0, 5 / 28))
    whole = sum(caller.answers[200] for caller in callers)
    assert total(callers) >= 0.97 * 5 * whole
    assert sum(caller.answers[429] for caller in callers) <= 0.03 * whole


@pytest.mark.smoke
def test_figures_and_metrics_tell_what_was_obtained(obtaining):
    fleet = obtaining([quota("q", {"rate": "6r/m"})])
    caller = Caller(fleet[0].check, "q", 4, time.monotonic() + 60, until_refused=True)
    caller.join()
    assert caller.granted == 6
    assert fleet[0].metric("weir_quota_admitted_total", quota="q") == 6
    assert fleet[0].metric("weir_proxy_events_total", event="check_obtained") == 2
    assert fleet[0].metric("weir_proxy_events_total", event="check_obtained_part") == 1
    assert fleet[0].metric("weir_checks_total", outcome="admitted") == 2
