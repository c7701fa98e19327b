"""Limits of a few requests a minute, shared by three."""

import time
from email.utils import parsedate_to_datetime

import pytest

from harness import http
from harness.counters import disagreements
from harness.lateness import on_time
from harness.load import Load, plan, stream
from harness.sidecar import quota
from harness.world import World

pytestmark = pytest.mark.smoke


@pytest.mark.slow
def test_five_a_minute_admits_the_five_at_once_then_none_for_eleven_seconds(folder):
    """Ten requests a second in turn at three sidecars; one more token falls due after 12 s."""
    def run(attempt):
        with World(folder / str(attempt)) as world:
            fleet = world.fleet(3, [quota("few", "5r/m")])
            result = Load(world.folder, plan(fleet.targets(), [stream("few", 10)], 11.5, seed=5)).wait()
            print(result.describe(), [row["at_s"] for row in result.bins if row["ok"]])
            arrivals = world.origin.arrivals()
            return (result, arrivals.total("few"), disagreements(fleet, result, arrivals, ["few"])), result.span_ns

    def faults(outcome):
        result, admitted, found = outcome
        if not 5 <= admitted <= 7 or result.total("refused") != result.total("offered") - admitted:
            found = [*found, f"{admitted} admitted, {result.total('refused')} refused"]
        first, later = result.between("ok", 0, 1), result.between("ok", 1, 11)
        return found if first >= 5 and later == 0 else [*found, f"{first} in the first second, {later} later"]

    # Each tenth of a second that word is late admits one more.
    _, found = on_time(run, faults, 0.05, lambda outcome: outcome[0].largest("slowest_ms") / 1000)
    assert found == []


def test_six_a_minute_never_refuses_a_second_request(world):
    quotas = [quota(f"six{i}", "6r/m") for i in range(30)]
    fleet = world.fleet(3, quotas)
    for i in range(30):
        first, second = fleet[i % 3], fleet[(i + i // 3) % 3]
        assert http.get(first.address, f"/six{i}/1").status == 200
        assert http.get(second.address, f"/six{i}/2").status == 200, f"six{i}"


@pytest.mark.quick
def test_a_refusal_names_its_quota_and_says_when_to_come_back(world):
    fleet = world.fleet(1, [quota("none", "0r/s"), quota("few", "2r/m")])
    answer = http.get(fleet[0].address, "/none/1")
    assert answer.status == 429
    assert answer.headers["x-weir-quota"] == "none"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 429
    for _ in range(2):
        assert http.get(fleet[0].address, "/few/1").status == 200
    refused = http.get(fleet[0].address, "/few/1")
    assert refused.status == 429
    assert refused.headers["ratelimit"].startswith('"few";r=0;t=')
    assert refused.headers["ratelimit-policy"].startswith('"few";q=2;w=60')
    assert world.origin.arrivals().total("none") == 0


def test_a_spent_limit_is_free_again_in_one_second_however_often_a_client_asks(world):
    sidecar = world.fleet(1, [quota("few", "6r/m", headers="x-ratelimit")])[0]
    for _ in range(6):
        assert http.get(sidecar.address, "/few/1").status == 200
    time.sleep(0.5)  # until the owner, who is this sidecar, has added the six to what it holds
    until = time.monotonic() + 3
    free_again, asked_in = set(), set()
    while time.monotonic() < until:
        answer = http.get(sidecar.address, "/few/1")
        assert answer.status == 429
        told_in = int(parsedate_to_datetime(answer.headers["date"]).timestamp())
        asked_in.add(told_in)
        free_again.add(told_in + int(answer.headers["x-ratelimit-reset"]))
        time.sleep(0.06)
    assert len(asked_in) >= 3
    assert len(free_again) == 1, free_again
