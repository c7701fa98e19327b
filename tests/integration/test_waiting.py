"""Requests that wait for their turn, at real sidecars."""

import http.client
import socket
import threading
import time

import pytest

from harness import http as simple
from harness.lateness import on_time
from harness.processes import wait_until
from harness.sidecar import quota
from harness.steadiness import fitted_rate


def queued(name, *limits, longest="2s", queue=1000, **more):
    return quota(name, *limits, wait={"longest": longest, "queue": queue}, **more)


MANY = 9_900  # of 20,000 descriptors a sidecar leaves half to connections to its upstream


class Client(threading.Thread):
    """Asks again as soon as it has its answer."""

    def __init__(self, address, path, until):
        super().__init__()
        self.address, self.path, self.until = address, path, until
        self.answers, self.waits, self.times = {}, [], []
        self.start()

    def run(self):
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        while time.monotonic() < self.until:
            connection.request("GET", self.path)
            answer = connection.getresponse()
            answer.read()
            self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
            self.times.append(time.monotonic_ns())
            if answer.getheader("X-Weir-Waited"):
                self.waits.append(float(answer.getheader("X-Weir-Waited")))
        connection.close()


@pytest.mark.slow
def test_twenty_clients_at_three_sidecars_get_the_limit_and_none_is_refused(world):
    fleet = world.fleet(3, [queued("q", "100r/s")])

    def run(attempt):
        world.origin.reset()
        begin_ns = time.monotonic_ns()
        clients = [Client(fleet[i % 3].address, "/q/x", time.monotonic() + 60) for i in range(20)]
        wait_until(lambda: all(client.waits for client in clients), 30, "the burst is spent")
        time.sleep(2)
        from_ns = time.monotonic_ns()
        time.sleep(14)
        to_ns = time.monotonic_ns()
        for client in clients:
            client.until = 0
        for client in clients:
            client.join()
        assert {status for client in clients for status in client.answers} == {200}
        rate = fitted_rate(world.origin.arrivals().bins(from_ns, 14))
        counts = [sum(from_ns <= at < to_ns for at in client.times) for client in clients]
        print(rate, counts)
        return (rate, counts), (begin_ns, to_ns)

    def faults(outcome):
        rate, counts = outcome
        found = [] if 99 <= rate <= 101 else [f"{rate:.2f} a second"]
        # Within a sidecar it is in turn, so its clients get the same once the burst is spent, of which those that
        # start first take most.
        return found + [f"one got {max(some)}, one {min(some)}" for some in (counts[i::3] for i in range(3))
                        if max(some) - min(some) > 5]

    _, found = on_time(run, faults, 0.05)
    assert found == []
    assert fleet.metric("weir_proxy_events_total", event="quota_waits_refused") == 0
    assert fleet.metric("weir_quota_refused_total", quota="q") == 0
    assert fleet.metric("weir_quota_waited_total", quota="q") > 1000


@pytest.mark.slow
def test_nearly_ten_thousand_wait_in_flat_memory_and_leave_when_their_clients_do(world):
    fleet = world.fleet(1, [queued("q", "1r/m", longest="30s", queue=MANY)],
                        settings={"limits": {"connections": MANY + 100}})
    sidecar = fleet[0]
    assert simple.get(sidecar.address, "/q/x").status == 200
    host, port = sidecar.address.rsplit(":", 1)
    head = b"GET /q/x HTTP/1.1\r\nHost: a.test\r\n\r\n"
    sockets = []
    before = sidecar.metric("process_resident_memory_bytes")
    try:
        for _ in range(MANY):
            one = socket.create_connection((host, int(port)))
            one.sendall(head)
            sockets.append(one)
        wait_until(lambda: sidecar.metric("weir_waiting_requests") == MANY, 40, "all wait")
        assert simple.get(sidecar.address, "/q/x").status == 429  # the queue is full
        first = sidecar.metric("process_resident_memory_bytes")
        time.sleep(5)
        later = sidecar.metric("process_resident_memory_bytes")
        print(before, first, later)
        assert later - first <= 2 << 20
        assert first - before <= MANY * (8 << 10)
    finally:
        for one in sockets:
            one.close()
    wait_until(lambda: sidecar.metric("weir_waiting_requests") == 0, 20, "none waits")
    assert sidecar.metric("weir_inflight_requests") == 0


@pytest.mark.smoke
def test_the_answer_the_log_and_the_metrics_tell_of_waiting(world):
    fleet = world.fleet(1, [queued("q", "6r/m", longest="300ms")],
                        settings={"access_log": "all", "access_log_file": str(world.folder / "access.log")})
    for _ in range(6):
        assert "x-weir-waited" not in simple.get(fleet[0].address, "/q/x").headers
    refused = simple.get(fleet[0].address, "/q/x")
    assert refused.status == 429
    assert 0.3 <= float(refused.headers["x-weir-waited"]) < 2
    assert fleet[0].metric("weir_wait_duration_seconds_count") == 1
    assert fleet[0].metric("weir_quota_refused_total", quota="q") == 1
    wait_until(lambda: "waited_ms" in (world.folder / "access.log").read_text(), 5, "the line is written")
    lines = (world.folder / "access.log").read_text().splitlines()
    assert ["waited_ms" in line for line in lines] == 6 * [False] + [True]
    described = fleet[0].command("quota", "get", "q")
    assert "300ms" in described
