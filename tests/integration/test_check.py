"""Real nginx, Caddy and Envoy ask weir on /check, configured by the examples of docs/check.md."""

import http.client
import time

import pytest

from harness import http as requests
from harness.hosts import HOSTS, port_of
from harness.lateness import on_time
from harness.load import SECOND, Load, plan, stream
from harness.ports import free_port
from harness.processes import wait_until
from harness.sidecar import quota
from harness.steadiness import fitted_rate, furthest_ahead_s

RATE = 200
LATE_ANSWER_S = 0.1
QUOTAS = [quota("bucket", f"{RATE}r/s"), quota("none", "0r/s"), quota("few", "2r/m")]
ROUTES = [
    {"match": {"path": "/posts/**", "methods": ["POST"]}, "quota": "none"},
    {"match": {"host": "blocked.test"}, "quota": "none"},
    {"match": {"path": "/{bucket}/**"}, "quota": ["{bucket}"]},
]


@pytest.fixture(params=sorted(HOSTS))
def asking(request, world, folder):
    """Makes a host in front of the origin, and the sidecar that it asks."""
    hosts = []

    def make(peek=False, as_shipped=False):
        check = f"127.0.0.1:{free_port()}"
        fleet = world.fleet(1, QUOTAS, ROUTES, settings={"check": {"listen": check}})
        kind = HOSTS[request.param]
        # Which deadlines an operator chooses is not what is judged: here all of them are long.
        replaced = {} if as_shipped else dict(kind.patient)
        hosts.append(kind(folder, check, world.origin.address, {**replaced, **(kind.peek if peek else {})}))
        return hosts[0], fleet[0]

    yield make
    for host in hosts:
        host.stop()


def status(host, path, method="GET", **options):
    return requests.request(host.address, method, path, **options).status


@pytest.mark.smoke
def test_what_is_allowed_passes_and_the_refused_gets_429(asking, world):
    host, sidecar = asking()
    origin = world.origin
    for method, body in (("GET", None), ("HEAD", None), ("POST", b"x" * 3000), ("PUT", b"y")):
        assert status(host, "/bucket/x", method, body=body) == 200, method
        refused = requests.request(host.address, method, "/none/x", body=body)
        assert refused.status == 429, method
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.headers["ratelimit"].startswith('"none";r=0')
        assert (refused.body == b"") == (method == "HEAD")
    # The original method, host and query are what is judged.
    assert status(host, "/posts/x") == 200
    assert status(host, "/posts/x", "POST", body=b"z") == 429
    assert status(host, "/bucket/x", headers={"Host": "blocked.test"}) == 429
    assert status(host, "/none/x?peek=1&quota=bucket&deny=429") == 429
    # A client's own words about its request move it to no other quota.
    for fields in ({"X-Forwarded-Uri": "/bucket/x"}, {"X-Original-URI": "/bucket/x"},
                   {"X-Original-URL": "http://a.test/bucket/x"}):
        assert status(host, "/none/x", headers=fields) in (400, 429), fields
    # Nor does a path with two readings.
    assert status(host, "/none%2f..%2fbucket/x") == 400
    arrivals = origin.arrivals()
    assert arrivals.total("bucket") == 4 and arrivals.total("posts") == 1
    assert arrivals.total() == 5
    assert sidecar.metric("weir_checks_total", outcome="admitted") == 5
    assert sidecar.metric("weir_requests_total") == 0


@pytest.mark.smoke
def test_connections_are_kept_on_both_sides(asking, world):
    host, sidecar = asking()
    connection = http.client.HTTPConnection("127.0.0.1", int(port_of(host.address)), timeout=10)
    for i in range(60):
        connection.request("GET", "/none/x" if i % 3 == 0 else "/bucket/x")
        response = connection.getresponse()
        response.read()
        assert response.status == (429 if i % 3 == 0 else 200)
        if i == 0:
            mine = connection.sock
        assert connection.sock is mine, "the host closed the client's connection"
    connection.close()
    assert sidecar.metric("weir_proxy_events_total", event="client_accepted") <= 3
    assert world.origin.arrivals().total("bucket") == 40


@pytest.mark.slow
def test_the_limit_holds_at_five_times_its_rate(asking, world, folder):
    host, sidecar = asking()

    def admitted():
        return sidecar.metric("weir_quota_admitted_total", quota="bucket")

    def run(attempt):
        world.origin.reset()
        place = folder / f"load-{attempt}"
        place.mkdir()
        before = admitted()
        load = Load(place, plan({host.name: host.address}, [stream("bucket", 5 * RATE)], 10, seed=31))
        result = load.wait()
        arrivals = world.origin.arrivals()
        # The bucket is full half a second after the first request, or some later where the host is slow to begin.
        steady_ns = result.start_ns + 3 * SECOND
        bins = arrivals.bins(steady_ns, 6, "bucket")
        rate, ahead_s = fitted_rate(bins), furthest_ahead_s(bins, RATE)
        print(result.describe(), arrivals.seconds(steady_ns, 6, "bucket"), rate, ahead_s)
        failed = result.total("errors") + result.total("other")
        arrived = arrivals.total("bucket")
        end = time.monotonic() + 20
        while admitted() - before != result.total("ok") and time.monotonic() < end:
            time.sleep(0.02)
        slowest_s = result.largest("slowest_ms", target=host.name) / 1000
        return (rate, ahead_s, admitted() - before, result.total("ok"), failed, arrived, slowest_s), result.span_ns

    def faults(outcome):
        rate, ahead_s, counted, passed, failed, arrived, _ = outcome
        found = [f"{failed} failed"] if failed else []
        if arrived != passed:
            found.append(f"{arrived} arrived, {passed} passed")
        if rate != pytest.approx(RATE, rel=0.03):
            found.append(f"{rate:.1f} a second")
        if ahead_s > 0.3:
            found.append(f"{ahead_s:.2f} s ahead of the limit")
        if counted != passed:
            found.append(f"{counted} admitted, {passed} passed")
        return found

    def lag_s(outcome):
        """A host that kept a request for so long had a queue before it, and moves what was admitted by that
        time."""
        slowest_s = outcome[-1]
        return slowest_s if slowest_s >= LATE_ANSWER_S else 0

    _, found = on_time(run, faults, 0.03, lag_s)
    assert found == []


@pytest.mark.smoke
def test_peeking_charges_nothing(asking, world):
    host, sidecar = asking(peek=True)
    assert [status(host, "/few/x") for _ in range(6)] == [200] * 6
    assert status(host, "/none/x") == 429
    assert sidecar.metric("weir_quota_admitted_total", quota="few") == 0
    # Charged behind the host, as by a sidecar there, the next peek is refused.
    for _ in range(2):
        assert requests.get(sidecar.address, "/few/x").status == 200
    assert status(host, "/few/x") == 429


@pytest.mark.smoke
def test_a_limiter_that_cannot_be_asked(asking, world):
    """nginx and Envoy let pass, as their examples say; Caddy answers 502."""
    host, sidecar = asking(as_shipped=True)
    wait_until(lambda: status(host, "/none/x") == 429, 20, "it is asked")
    sidecar.kill()
    expected = 502 if host.name == "caddy" else 200
    began = time.monotonic()
    assert [status(host, "/none/x") for _ in range(3)] == [expected] * 3
    assert time.monotonic() - began < 10
