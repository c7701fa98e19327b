"""What quotas and routes may say besides their limits: with real sidecars, an origin and load."""

import http.client
import json

import pytest
from harness import http as simple
from harness.load import Load, plan, stream
from harness.processes import wait_equal, wait_until
from harness.sidecar import BUCKET_ROUTES, quota
from harness.steadiness import fitted_rate

pytestmark = pytest.mark.smoke

SECOND = 1_000_000_000
LOCAL = ["127.0.0.1/32"]


def statuses(sidecar, path, headers_of, count):
    """One kept connection; the status of each of `count` requests."""
    host, port = sidecar.address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    found = []
    for i in range(count):
        connection.request("GET", path, headers=headers_of(i))
        response = connection.getresponse()
        response.read()
        found.append(response.status)
    connection.close()
    return found


def steady(world, load, result, bucket, from_s, count):
    """Arrivals at the origin in a second, of `count` seconds."""
    mean = fitted_rate(world.origin.arrivals().bins(result.start_ns + from_s * SECOND, count, key=bucket))
    print(load, mean)
    return mean


def test_a_share_of_clients_is_enforced_alike_by_every_sidecar(world):
    closed = quota("b", "0r/s", enforce="25%", enforce_by="header:x-client")
    fleet = world.fleet(2, [closed])
    def client(i):
        return {"X-Client": f"client-{i}"}
    first = statuses(fleet[0], "/b/k", client, 1000)
    assert statuses(fleet[1], "/b/k", client, 1000) == first
    refused = first.count(429)
    assert abs(refused - 250) < 4 * 13.7
    fleet[0].write_quotas([quota("b", "0r/s", enforce="50%", enforce_by="header:x-client")], 2)
    wait_until(lambda: fleet[1].quota("b")["definition"].get("enforce") == "50%", 30, "the new share")
    more = statuses(fleet[1], "/b/k", client, 1000)
    assert all(now == 429 for now, before in zip(more, first) if before == 429)
    assert abs(more.count(429) - 500) < 4 * 15.8
    wait_equal(lambda: fleet[0].metric("weir_quota_refused_total", quota="b"), refused, "refused")
    wait_equal(lambda: fleet[0].metric("weir_quota_shadow_refused_total", quota="b"), 1000 - refused, "in shadow")


@pytest.mark.quick
def test_a_front_tier_peeks_and_the_tier_behind_charges(world, folder):
    fleet = world.fleet(2, [quota("b", "100r/s"), quota("closed", "0r/s")], start=False)
    front, behind = fleet
    front.settings = {"peek": True}
    front.upstream = behind.address
    behind.settings = {"judging_proxies": LOCAL}
    fleet.start()
    result = Load(folder, plan({"front": front.address}, [stream("b", 300)], 8, seed=3)).wait()
    print(result.describe())
    # The front's level is what the tier behind charges, a gossip's delay ago.
    mean = steady(world, result.describe(), result, "b", 3, 5)
    assert 95 <= mean <= 105
    assert behind.metric("weir_requests_total", outcome="refused") == 0
    wait_equal(lambda: behind.metric("weir_proxy_events_total", event="judged_in_front"), result.total("ok"),
               "judged in front")
    assert front.metric("weir_quota_admitted_total", quota="b") == 0
    # Whoever is not trusted cannot buy himself in with the same field.
    assert statuses(front, "/closed/k", lambda i: {"X-Weir-Judged": "1"}, 20) == [429] * 20


def test_a_client_behind_a_proxy_that_is_only_trusted_cannot_say_that_it_was_judged(world):
    closed, few = quota("b", "0r/s"), quota("few", "3r/h")
    balanced, = world.fleet(1, [closed, few], settings={"trusted_proxies": LOCAL})
    judged = {"X-Weir-Judged": "1", "X-Forwarded-For": "203.0.113.7"}
    assert statuses(balanced, "/b/k", lambda i: judged, 20) == [429] * 20
    assert statuses(balanced, "/few/k", lambda i: judged, 8) == [200] * 3 + [429] * 5
    assert balanced.metric("weir_proxy_events_total", event="judged_ignored") == 28
    assert balanced.metric("weir_proxy_events_total", event="judged_in_front") == 0
    # Named for it, the same peer is believed, without a restart; a limit of 0 passes too.
    balanced.settings["judging_proxies"] = LOCAL
    balanced.config_file.write_text(json.dumps(balanced.config()))
    balanced.reload()
    wait_until(lambda: simple.get(balanced.address, "/b/k", headers=judged).status == 200, 20,
               "the new setting")
    assert statuses(balanced, "/b/k", lambda i: {"X-Weir-Judged": "yes"}, 1) == [429]


def bytes_fleet(world, folder, count):
    body = 20_000
    limit = {"rate": "2MB/s", "of": "response-bytes"}
    fleet = world.fleet(count, [quota("b", limit)], body_bytes=body)
    load = Load(folder, plan(fleet.targets(), [stream("b", 500, arrivals="poisson")], 9, seed=7))
    result = load.wait()
    mean = body * steady(world, result.describe(), result, "b", 3, 6)
    assert result.total("refused") + result.total("ok") == result.total("offered")
    return mean


@pytest.mark.long
def test_response_bytes_of_one_sidecar_at_five_times_the_limit(world, folder):
    assert 1.94e6 <= bytes_fleet(world, folder, 1) <= 2.06e6


def test_response_bytes_of_three_sidecars_at_five_times_the_limit(world, folder):
    assert 1.94e6 <= bytes_fleet(world, folder, 3) <= 2.06e6


def test_free_answers_make_room_for_others_in_the_whole_fleet(world, folder):
    routes = [{**BUCKET_ROUTES[0], "refund": [304]}]
    fleet = world.fleet(3, [quota("b", "200r/s")], routes=routes, other_every=2)
    load = Load(folder, plan(fleet.targets(), [stream("b", 1000, arrivals="poisson")], 9, seed=9))
    result = load.wait()
    mean = steady(world, result.describe(), result, "b", 3, 6)
    assert 0.95 * 400 <= mean <= 1.05 * 400


def test_counters_agree_with_the_origin_when_the_upstream_fails(world, folder):
    routes = [{**BUCKET_ROUTES[0], "refund": ["5xx"]}]
    fleet = world.fleet(3, [quota("b", "400r/s")], routes=routes, other_every=3, other_status=503)
    load = Load(folder, plan(fleet.targets(), [stream("b", 900, arrivals="poisson")], 6, seed=2))
    result = load.wait()
    arrived = world.origin.arrivals().total("b")
    failed = arrived // 3
    print(result.describe(), arrived)
    assert result.total("ok") == arrived - failed

    def total(name, **labels):
        return sum(sidecar.metric(name, **labels) for sidecar in fleet)
    for name, labels, expected in [
            ("weir_quota_admitted_total", {"quota": "b"}, arrived),
            ("weir_quota_refunded_total", {"quota": "b"}, failed),
            ("weir_quota_refused_total", {"quota": "b"}, result.total("refused")),
            ("weir_requests_total", {"outcome": "admitted"}, arrived)]:
        wait_equal(lambda: total(name, **labels), expected, name)


def test_the_access_log_has_a_line_for_each_request(world, folder):
    log = folder / "access.log"
    settings = {"access_log": "all", "access_log_file": str(log)}
    fleet = world.fleet(1, [quota("few", "5r/m")], settings=settings)
    sidecar = fleet[0]
    ids = []
    for i in range(8):
        answer = simple.get(sidecar.address, f"/few/{i}?x=1", headers={"X-Request-Id": f"id-{i}"})
        ids.append((f"id-{i}", answer.status))
        if answer.status == 429:
            assert answer.headers["x-request-id"] == f"id-{i}"
    wait_until(lambda: log.read_text().count("\n") == 8, 20, "eight lines")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["request_id"], line["status"]) for line in lines] == ids
    assert lines[0].keys() == {"time", "method", "host", "path", "status", "duration_ms", "bytes_in",
                               "bytes_out", "quota", "outcome", "reason", "request_id"}
    assert (lines[0]["method"], lines[0]["path"], lines[0]["quota"]) == ("GET", "/few/0", "few")
    numbers = ("status", "duration_ms", "bytes_in", "bytes_out")
    assert all(isinstance(line[name], (int, float)) for line in lines for name in numbers)
    assert [line["outcome"] for line in lines] == ["admitted"] * 5 + ["refused"] * 3
    # Only the refused ones from now on, into a new file.
    log.rename(folder / "access.log.1")
    sidecar.settings |= {"access_log": "limited", "access_log_query": True}
    sidecar.config_file.write_text(json.dumps(sidecar.config()))
    taken_over = sidecar.metric("weir_proxy_events_total", event="reloads")
    sidecar.reload()
    wait_until(log.exists, 20, "the log is opened again")
    # The log is opened before the settings are read: until a worker has these, it logs everything.
    wait_until(lambda: sidecar.metric("weir_proxy_events_total", event="reloads") > taken_over, 20,
               "the settings are in use")
    simple.get(sidecar.address, "/other/1")
    simple.get(sidecar.address, "/few/9?x=1")
    wait_until(lambda: log.read_text().count("\n") == 1, 20, "one line")
    assert json.loads(log.read_text())["path"] == "/few/9?x=1"
    wait_equal(lambda: sidecar.metric("weir_proxy_events_total", event="access_log_written"), 9, "lines written")
    assert sidecar.metric("weir_proxy_events_total", event="access_log_dropped") == 0
