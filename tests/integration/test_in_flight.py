"""Limits of requests in flight at real sidecars. The upstream of these tests counts what is in flight."""

import contextlib
import socket
import struct
import threading
import time

import pytest

from harness import http
from harness.ports import free_port
from harness.processes import wait_until
from harness.sidecar import Sidecar, quota

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


class Upstream:
    """Serves each request in a thread, as its path asks, and counts those that are in flight here. `gate` holds
    all requests for /q/hold until it is set."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running, self.most, self.served = 0, 0, 0
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
                with self.lock:
                    self.running += 1
                    self.most = max(self.most, self.running)
                    self.served += 1
                try:
                    if not self._answer(connection, head.split(b" ")[1].decode()):
                        return
                finally:
                    with self.lock:
                        self.running -= 1

    def _answer(self, connection, path):
        """Whether the connection stays."""
        if path == "/q/hold":
            self.gate.wait(60)
        if path == "/q/late":
            time.sleep(0.1)
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
    assert "in flight here 3 requests" in sidecar.command("quota", "get", "q")
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


def kept_for_others(sidecar):
    """After a request that has ended, so that the limit is in use and nothing is in flight."""
    assert http.get(sidecar.address, "/q/x").status == 200
    wait_until(lambda: in_flight(sidecar) == 0, 20, "none is in flight")
    return sidecar.quota("q")["live"]["limits"][0]["level"]


def test_sidecars_have_equal_parts_of_a_limit_of_the_fleet(world, upstream):
    quotas = [quota("q")]
    quotas[0]["limits"] = [{"concurrency": 7}]
    fleet = world.fleet(3, quotas, settings={"upstream": f"http://{upstream.address}"})
    for sidecar in fleet:
        wait_until(lambda sidecar=sidecar: kept_for_others(sidecar) == 5, 30, "each knows its part")
    held = []
    for sidecar in fleet:
        held += [ask(sidecar, "/q/hold") for _ in range(5)]
    wait_until(lambda: upstream.running == 6 and fleet.metric("weir_quota_refused_total", quota="q") == 9, 20,
               "each has its part")
    fleet[2].kill()
    wait_until(lambda: fleet[0].metric("weir_peers", state="alive") <= 1, 60, "the others know it")

    def more():
        held.append(ask(fleet[0], "/q/hold"))
        return in_flight(fleet[0]) == 3

    wait_until(more, 30, "the others have more", 0.2)
    time.sleep(0.5)
    assert in_flight(fleet[0]) == 3
    upstream.gate.set()
    for one in held:
        one.close()
    for sidecar in (fleet[0], fleet[1]):
        wait_until(lambda: in_flight(sidecar) == 0, 20, "none is in flight")
