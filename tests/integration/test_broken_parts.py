"""A part beside the request path breaks: every request passes, and none is slower. Gossip's turn is
in test_udp_blocked.py."""

import contextlib
import itertools
import json
import socket
import subprocess
import threading

import pytest

from harness import http, paired
from harness.network import as_root
from harness.sidecar import quota

QUOTAS = [quota("bucket", "2000r/s"), quota("other", "1000r/s")]
# Half a minute each, and worth nothing on a machine that does other things.
pytestmark = pytest.mark.long


@contextlib.contextmanager
def small_disk(path, mib):
    path.mkdir()
    subprocess.run(as_root("mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=777", "none", str(path)),
                   check=True, timeout=30)
    try:
        yield path
    finally:
        subprocess.run(as_root("umount", "--lazy", str(path)), check=True, timeout=30)


@contextlib.contextmanager
def filled(path):
    filler = path / "filler"
    with open(filler, "wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 20))
            file.flush()
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def edits(sidecar):
    """Ten a second, so that there always is something to save."""
    ending = threading.Event()

    def go():
        for number in itertools.count(1):
            if ending.wait(0.1):
                return
            http.request(sidecar.admin, "PUT", "/v1/quotas/other",
                         json.dumps({"limits": [{"rate": f"{1000 + number}r/s"}]}),
                         {"Content-Type": "application/json"})
    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def test_no_request_is_slower_with_a_full_disk(world, folder):
    with small_disk(folder / "disk", 64) as disk:
        fleet = world.fleet(2, QUOTAS, start=False)
        for one in fleet:
            one.settings = {"access_log": "all", "access_log_file": str(disk / f"{one.name}.log"),
                            "snapshot": {"file": str(disk / f"{one.name}.overrides")}}
        fleet.start()

        def troubles():
            return (fleet.metric("weir_proxy_events_total", event="access_log_failed")
                    + fleet.metric("weir_snapshot_saves_total", result="failure"))

        def measure(seed):
            result, grown = paired.measure(fleet, folder, seed, lambda: filled(disk), troubles)
            assert grown["whole"] == 0 < grown["faulty"]
            return result
        with edits(fleet[0]):
            paired.assert_none_slower(fleet, measure(61), lambda: measure(62))


@contextlib.contextmanager
def clogged(fleet):
    """All connections of each admin listener are taken by clients that send half a request."""
    with contextlib.ExitStack() as held:
        for one in fleet:
            host, port = one.admin.rsplit(":", 1)
            for _ in range(200):
                client = held.enter_context(socket.create_connection((host, int(port)), 5))
                client.sendall(b"PUT /v1/quotas/other HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        yield


def test_no_request_is_slower_while_the_admin_listener_is_clogged(world, folder):
    fleet = world.fleet(2, QUOTAS)

    def measure(seed):
        return paired.measure(fleet, folder, seed, lambda: clogged(fleet))[0]
    paired.assert_none_slower(fleet, measure(63), lambda: measure(64))
