"""Limits of requests in flight at real sidecars. The upstream of these tests counts what is in flight."""

import collections
import contextlib
import itertools
import random
import socket
import struct
import threading
import time

import pytest

from harness import http
from harness.load import SECOND, Load, plan, stream
from harness.network import Split
from harness.ports import free_port
from harness.processes import wait_until
from harness.sidecar import Sidecar, quota

PAUSES = {"/q/short": 0.01, "/q/late": 0.1, "/q/second": 1, "/q/smaller": 1, "/q/larger": 1}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


class Upstream:
    """Serves each request in a thread, as its path asks, and counts those that are in flight here. `gate` holds
    all requests for /q/hold until it is set."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running, self.most, self.served = 0, 0, 0
        self.running_at = collections.Counter()  # by path
        # By path: when a request began or ended, and how many are in flight from then on. None: all paths.
        self.changes = collections.defaultdict(list)
        self.gate = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.gate.set()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # which ends the waiting for connections
        self.socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    some = connection.recv(65536)
                    if not some:
                        return
                    head += some
                path = head.split(b" ")[1].decode()
                self._count(1, path)
                try:
                    if not self._answer(connection, path):
                        return
                finally:
                    self._count(-1, path)

    def _count(self, change, path):
        with self.lock:
            self.running += change
            self.running_at[path] += change
            self.most = max(self.most, self.running)
            self.served += change > 0
            now = time.monotonic()
            self.changes[None].append((now, self.running))
            self.changes[path].append((now, self.running_at[path]))

    def in_flight(self, begin, end, path=None):
        """How many were in flight between these times: on average, and at most."""
        spans = [(max(at, begin), min(until, end), running) for (at, running), (until, _)
                 in itertools.pairwise([*self.changes[path], (end, 0)]) if until > begin and at < end]
        return sum((until - at) * running for at, until, running in spans) / (end - begin), \
            max(running for _, _, running in spans)

    def _answer(self, connection, path):
        """Whether the connection stays."""
        if path == "/q/hold":
            self.gate.wait(60)
        if path in PAUSES:
            time.sleep(PAUSES[path])
        if path == "/q/close":
            return False
        if path == "/q/broken":
            connection.sendall(HEAD % 100 + b"some")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if path == "/q/silent":
            return connection.recv(1) != b""
        if path == "/q/endless":
            connection.sendall(HEAD % (1 << 40))
            while True:
                connection.sendall(b"x" * 65536)
        if path == "/q/tunnel":
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                               b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
            return connection.recv(1) == b"on"
        connection.sendall(HEAD % 2 + b"ok")
        return True


@pytest.fixture(name="upstream")
def _upstream():
    upstream = Upstream()
    yield upstream
    upstream.stop()


@pytest.fixture(name="begin")
def _begin(world, upstream):
    """Starts a sidecar in front of the upstream."""

    def begin(quotas, **settings):
        sidecar = Sidecar("one", world.folder, upstream.address, quotas=quotas, settings=settings)
        world.ending.callback(sidecar.stop)
        return sidecar.start()

    return begin


def in_flight(sidecar, name="q"):
    return sidecar.metric("weir_quota_in_flight", quota=name)


def limit(most, name="q", **more):
    made = quota(name, **more)
    made["limits"] = [{"concurrency": most, "scope": "sidecar"}]
    return made


def send(sidecar, text):
    host, port = sidecar.address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(text.encode())
    return connection


def ask(sidecar, path, more=""):
    return send(sidecar, f"GET {path} HTTP/1.1\r\nHost: a.test\r\n{more}\r\n")


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.smoke
def test_as_many_requests_reach_the_upstream_as_the_limit_says(begin, upstream):
    sidecar = begin([limit(3)])
    held = [ask(sidecar, "/q/hold") for _ in range(3)]
    wait_until(lambda: upstream.running == 3, 20, "three are in flight")
    for _ in range(5):
        refused = http.get(sidecar.address, "/q/x")
        assert refused.status == 429
        assert refused.headers["ratelimit-policy"] == '"q";q=3;qu="concurrent-requests"'
        assert refused.headers["ratelimit"] == '"q";r=0'
        assert refused.headers["x-weir-quota"] == "q"
    assert in_flight(sidecar) == 3
    status = sidecar.quota("q")["live"]["limits"][0]
    assert (status["concurrency"], status["in_flight"]) == (3, 3)
    assert "in flight here 3 requests, of at most 3" in sidecar.command("quota", "get", "q")
    upstream.gate.set()
    for one in held:
        assert one.recv(100).startswith(b"HTTP/1.1 200 ")
        one.close()
    wait_until(lambda: in_flight(sidecar) == 0, 20, "none is in flight")
    assert http.get(sidecar.address, "/q/x").status == 200
    assert upstream.most == 3


def leave_early(sidecar, upstream):
    connection = ask(sidecar, "/q/silent")
    wait_until(lambda: upstream.running == 1, 20, "it is in flight")
    reset(connection)


def leave_in_the_body(sidecar, _):
    connection = ask(sidecar, "/q/endless")
    assert connection.recv(100)
    reset(connection)


def leave_in_the_upload(sidecar, upstream):
    connection = send(sidecar, "POST /q/silent HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nsome")
    wait_until(lambda: upstream.running == 1, 20, "it is in flight")
    reset(connection)


def send_a_bad_body(sidecar, _):
    connection = send(sidecar, "POST /q/x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3\r\nabc\r\nthis is no chunk\r\n")
    assert connection.recv(100)
    connection.close()


def close_a_tunnel(sidecar, _):
    connection = ask(sidecar, "/q/tunnel", "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    assert connection.recv(100).startswith(b"HTTP/1.1 101 ")
    wait_until(lambda: in_flight(sidecar) == 1, 20, "the tunnel is in flight")
    connection.close()


def answers(path, status):
    def run(sidecar, _):
        with contextlib.suppress(OSError):
            assert http.get(sidecar.address, path).status == status
    return run


ENDINGS = {
    "answered": answers("/q/x", 200),
    "the upstream closes": answers("/q/close", 502),
    "the upstream breaks off": answers("/q/broken", 200),
    "the upstream is silent": answers("/q/silent", 504),
    "the client leaves early": leave_early,
    "the client leaves in the body": leave_in_the_body,
    "the client leaves in the upload": leave_in_the_upload,
    "the body is bad": send_a_bad_body,
    "a tunnel is closed": close_a_tunnel,
}


@pytest.mark.parametrize("how", ENDINGS)
def test_however_a_request_ends_its_place_is_given_back(begin, upstream, how):
    sidecar = begin([limit(1)], timeouts={"stream_idle": "1s"})
    for _ in range(3):
        ENDINGS[how](sidecar, upstream)
        wait_until(lambda: in_flight(sidecar) == 0, 20, "its place is free")
        wait_until(lambda: upstream.running == 0, 20, "it has ended at the upstream")
    wait_until(lambda: http.get(sidecar.address, "/q/x").status == 200, 20, "another is admitted")
    assert upstream.most == 1


def test_a_request_that_no_upstream_takes_gives_its_place_back(begin, upstream):
    sidecar = begin([limit(1)], timeouts={"upstream_restart": "0s"})
    upstream.stop()
    for _ in range(3):
        assert http.get(sidecar.address, "/q/x").status == 502
    wait_until(lambda: in_flight(sidecar) == 0, 20, "its place is free")


def test_a_drain_waits_for_those_in_flight(begin, upstream):
    sidecar = begin([limit(1)])
    held = ask(sidecar, "/q/hold")
    wait_until(lambda: upstream.running == 1, 20, "it is in flight")
    stop = threading.Thread(target=sidecar.stop)
    stop.start()
    time.sleep(0.3)
    upstream.gate.set()
    assert held.recv(100).startswith(b"HTTP/1.1 200 ")
    held.close()
    stop.join()


def test_those_that_wait_take_the_places_of_those_that_end(begin, upstream):
    sidecar = begin([limit(2, wait={"longest": "30s"})])
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(http.get(sidecar.address, "/q/late").status))
               for _ in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert statuses == [200] * 12
    assert upstream.most == 2
    assert sidecar.metric("weir_quota_waited_total", quota="q") == 10


def test_a_check_judges_and_takes_no_place(begin, upstream):
    check = f"127.0.0.1:{free_port()}"
    sidecar = begin([limit(1)], check={"listen": check})
    for _ in range(3):
        assert http.get(check, "/check?quota=q").status == 200
    held = ask(sidecar, "/q/hold")
    wait_until(lambda: upstream.running == 1, 20, "it is in flight")
    assert http.get(check, "/check?quota=q").status == 429
    assert in_flight(sidecar) == 1
    upstream.gate.set()
    assert held.recv(100).startswith(b"HTTP/1.1 200 ")
    held.close()
    assert http.get(check, "/check?quota=q").status == 200
    assert sidecar.metric("weir_proxy_events_total", event="check_only_judged") == 4


def shared(world, upstream, most, count=3):
    """A fleet with a limit that it shares."""
    quotas = [quota("q")]
    quotas[0]["limits"] = [{"concurrency": most}]
    fleet = world.fleet(count, quotas, settings={"upstream": f"http://{upstream.address}"})
    for sidecar in fleet:
        wait_until(lambda sidecar=sidecar: sidecar.metric("weir_peers", state="alive") == count - 1, 30, "all know all")
    return fleet


def check_rest(fleet, upstream):
    wait_until(lambda: upstream.running == 0, 30, "all have ended at the upstream")
    for sidecar in fleet:
        wait_until(lambda sidecar=sidecar: in_flight(sidecar) == 0, 30, "none is in flight")


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (1, 0, 0), (0.6, 0.2, 0.2)], ids=["even", "one", "skewed"])
def test_a_fleet_has_as_many_in_flight_as_the_limit_says_wherever_the_load_is(world, folder, upstream, shares):
    fleet = shared(world, upstream, 64)
    load = stream("q", 640, "poisson", shares, path="/q/second")
    result = Load(folder, plan(fleet.targets(), [load], 12, seed=5)).wait()
    begin = result.start_ns / SECOND
    mean, most = upstream.in_flight(begin + 3, begin + 11.5)
    print(f"{result.describe()}; {mean:.2f} in flight on average, {most} at most")
    assert result.total("errors") + result.total("other") == 0
    assert 62 <= mean <= 66
    assert upstream.most <= 67  # while counts travel, one more at each sidecar
    check_rest(fleet, upstream)


def test_what_a_killed_sidecar_had_goes_to_the_others(world, upstream):
    fleet = shared(world, upstream, 7)
    held = [ask(fleet[2], "/q/hold") for _ in range(3)]
    wait_until(lambda: in_flight(fleet[2]) == 3, 20, "three are in flight")

    def more():
        """Whether 4 are in flight at another one, which asks for what the others do not need."""
        held.append(ask(fleet[0], "/q/hold"))
        return in_flight(fleet[0]) >= 4

    wait_until(more, 30, "the rest is here", 0.1)
    for _ in range(10):
        held.append(ask(fleet[0], "/q/hold"))
        held.append(ask(fleet[1], "/q/hold"))
    wait_until(lambda: fleet.metric("weir_quota_refused_total", quota="q") >= 19, 20, "the others are refused")
    assert upstream.most <= 10  # one more at each sidecar
    fleet[2].kill()

    def together():
        held.extend(ask(sidecar, "/q/hold") for sidecar in fleet[:2])
        return in_flight(fleet[0]) + in_flight(fleet[1])

    wait_until(lambda: together() == 7, 60, "they have all", 0.2)
    for _ in range(3):
        time.sleep(0.2)
        assert together() == 7
    upstream.gate.set()
    for one in held:
        one.close()
    check_rest(fleet[:2], upstream)


@pytest.mark.slow
def test_in_a_split_the_smaller_side_keeps_its_parts_and_the_larger_one_has_all(world, folder, upstream):
    fleet = shared(world, upstream, 50, 5)
    loads = [stream("q", 200, "poisson", (0.5, 0.5, 0, 0, 0), path="/q/smaller"),
             stream("q", 300, "poisson", (0, 0, 1 / 3, 1 / 3, 1 / 3), path="/q/larger")]
    load = Load(folder, plan(fleet.targets(), loads, 20, seed=6))
    time.sleep(4)

    def lately(path=None):
        now = time.monotonic()
        return upstream.in_flight(now - 1, now, path)

    before = lately("/q/smaller")
    begin = time.monotonic()
    with Split(list(fleet)[:2], list(fleet)[2:]):
        wait_until(lambda: lately("/q/larger")[0] >= 48, 10, "the larger side has all", 0.1)
        time.sleep(1)
        larger, smaller = lately("/q/larger"), upstream.in_flight(begin, time.monotonic(), "/q/smaller")
        apart = time.monotonic() - begin
    wait_until(lambda: 47 <= lately()[0] and lately()[1] <= 55, 10, "together they keep to the limit", 0.1)
    print(f"{apart:.1f} s apart; on average and at most: {before} at the smaller side before, {smaller} while apart, "
          f"{larger} at the larger one, {lately()} together afterwards; {load.wait().describe()}")
    # One more at each sidecar, while counts travel.
    assert before[0] - 2 <= smaller[0] and smaller[1] <= before[1] + 2
    assert larger[1] <= 53
    check_rest(fleet, upstream)


SOME = ["x", "late", "close", "broken", "short"]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [12, pytest.param(50, marks=pytest.mark.long)])
def test_nothing_is_left_after_many_requests_with_random_endings_and_kills(world, folder, upstream, seconds):
    fleet = shared(world, upstream, 48)
    loads = [stream(name, 2000 / len(SOME), "poisson", path=f"/q/{name}") for name in SOME]
    load = Load(folder, plan(fleet.targets(), loads, seconds, seed=8))
    chance = random.Random(9)
    end = time.monotonic() + seconds - 4
    kills = 0
    while time.monotonic() < end:
        for _ in range(30):
            one = chance.randrange(3)
            with contextlib.suppress(OSError):
                connection = ask(fleet[one], "/q/" + chance.choice(["endless", "silent", "late", "tunnel"]))
                time.sleep(chance.random() * 0.1)
                reset(connection)
        kills += 1
        victim = fleet[kills % 3]
        victim.kill()
        victim.start()
    result = load.wait()
    print(f"{result.describe()}; {kills} kills, {upstream.served} served, {upstream.most} in flight at most")
    assert result.total("offered") >= 1900 * seconds
    assert kills >= 2
    check_rest(fleet, upstream)
    held = []

    def fills():
        held.append(ask(fleet[0], "/q/hold"))
        return in_flight(fleet[0]) == 48

    wait_until(fills, 30, "all places are free", 0.02)
    upstream.gate.set()
    for one in held:
        one.close()
    check_rest(fleet, upstream)
