"""An upstream that is killed and started again under load costs hardly a request."""

import http.client
import threading
import time

import pytest

from harness import http as small
from harness.paths import program
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import quota

CLIENTS = 8


class Load:
    """So many clients, each with one request after the other on a connection that is kept."""

    def __init__(self, address):
        self.address = address
        self.statuses = []
        self.broken = 0  # requests whose connection ended without an answer
        self.stopped = False
        self.threads = [threading.Thread(target=self.run) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        while not self.stopped:
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                answer.read()
                self.statuses.append(answer.status)
            except (OSError, http.client.HTTPException):  # the next request opens another connection
                self.broken += 1
                connection.close()
            time.sleep(0.002)
        connection.close()

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def upstream(world, port):
    process = Process([program("weir-origin"), "--control", "127.0.0.1:0", "--listen", f"app=127.0.0.1:{port}"],
                      world.folder / "upstream.log", pipe_output=True)
    assert process.popen.stdout.readline()
    return process


def event(sidecar, name):
    return sidecar.metric("weir_proxy_events_total", event=name)


def test_an_upstream_that_is_killed_and_comes_back_loses_only_what_was_under_way(world):
    port = free_port()
    # Longer than a busy machine takes to start the upstream again.
    settings = {"upstream": f"http://127.0.0.1:{port}", "timeouts": {"upstream_restart": "1m"}}
    sidecar, = world.fleet(1, [quota("all", "100000r/s")], routes=[{"quota": "all"}], settings=settings)
    process = upstream(world, port)
    load = Load(sidecar.address)
    world.ending.callback(load.stop)
    wait_until(lambda: len(load.statuses) > 200, 30, "requests are answered")
    process.kill()
    # Each client waits with one request.
    wait_until(lambda: event(sidecar, "upstream_waits") >= CLIENTS / 2, 30, "requests wait")
    time.sleep(0.5)
    before = len(load.statuses)
    process = upstream(world, port)
    world.ending.callback(process.terminate)
    wait_until(lambda: len(load.statuses) > before + 200, 30, "requests are answered again")
    load.stop()
    failed = [status for status in load.statuses if status != 200]
    assert len(failed) + load.broken <= CLIENTS, (failed, load.broken)  # one under way for each client
    assert event(sidecar, "upstream_waits_served") == event(sidecar, "upstream_waits")


@pytest.mark.smoke
def test_one_that_does_not_come_back_is_a_502_after_the_time(world):
    settings = {"upstream": f"http://127.0.0.1:{free_port()}", "timeouts": {"upstream_restart": "700ms"}}
    sidecar, = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}], settings=settings)
    begin = time.monotonic()
    assert small.get(sidecar.address, "/").status == 502
    assert time.monotonic() - begin >= 0.7
    assert event(sidecar, "upstream_waits") == 1
    assert event(sidecar, "upstream_waits_served") == 0
