"""What the host does to a sidecar, and clients in numbers: descriptors, memory, slow clients, keys
without end, clocks, bad files, restarts. docs/robustness.md tells the same in words."""

import fcntl
import os
import random
import resource
import selectors
import socket
import struct
import termios
import threading
import time

import pytest

from harness import http
from harness.clock import build_clock
from harness.load import SECOND, Load, plan, stream
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota

BUCKET = [quota("bucket", "100000r/s")]


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=10)


@pytest.fixture
def sockets():
    """Client sockets that end with the test; room for a few thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    made = []
    yield made
    for one in made:
        one.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_with(made, address, count, text):
    for _ in range(count):
        made.append(connect(address))
        made[-1].sendall(text)


def answers(address, path="/readyz", method="GET"):
    try:
        return http.request(address, method, path, timeout_s=5).status == 200
    except OSError:
        return False


def is_idle(process, span_s=0.5):
    """Whether it takes less than a fiftieth of a core for half a second."""
    before = process.cpu_ns()
    time.sleep(span_s)
    return process.cpu_ns() - before < span_s * SECOND / 50


# ---- slow clients ----------------------------------------------------------------------------


def trickle_until_closed(slow, deadline_s):
    """Each sends a byte a second, as an attacker does; how long the last one lasted."""
    began = time.monotonic()
    selector = selectors.DefaultSelector()
    for one in slow:
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
    next_byte = began
    while selector.get_map() and time.monotonic() - began < deadline_s:
        for key, _ in selector.select(0.2):
            try:
                if key.fileobj.recv(65536):
                    continue  # the 408; the end is behind it
            except ConnectionError:
                pass
            selector.unregister(key.fileobj)
        if time.monotonic() >= next_byte:
            next_byte += 1
            for key in list(selector.get_map().values()):
                try:
                    key.fileobj.send(b"x")
                except OSError:
                    pass
    return len(selector.get_map()), time.monotonic() - began


@pytest.mark.smoke
@pytest.mark.parametrize("head_s", [3, pytest.param(10, marks=pytest.mark.long)])
def test_a_thousand_slow_heads_are_gone_in_time_and_others_see_no_error(world, folder, sockets, head_s):
    fleet = world.fleet(1, BUCKET, settings={"timeouts": {"request_head": f"{head_s}s"}})
    load = Load(folder, plan(fleet.targets(), [stream("bucket", 300)], head_s + 4, seed=41))
    open_with(sockets, fleet[0].address, 1000, b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
    left, lasted = trickle_until_closed(sockets, head_s + 25)
    result = load.wait()
    print(result.describe(), f"slow ones lasted {lasted:.1f} s")
    assert left == 0
    # The head's time in total, and a busy machine's: counted anew with each byte, it would never end.
    assert lasted < head_s + 15
    assert result.total("ok") == result.total("offered")
    wait_equal(lambda: fleet[0].metric("weir_requests_total", reason="head_timeout"), 1000, "each is counted")


# ---- descriptors -----------------------------------------------------------------------------


@pytest.mark.smoke
def test_clients_never_take_the_descriptors_of_admin_and_gossip(world, sockets):
    """35: with 256 descriptors, 400 clients stay in the kernel's queue beyond what is left."""
    fleet = world.fleet(2, BUCKET, start=False)
    fleet[0].launcher = ["prlimit", "--nofile=256:256"]
    fleet.start()
    open_with(sockets, fleet[0].address, 400, b"GET / HTTP/1.1\r\n")
    wait_until(lambda: fleet[0].metric("weir_proxy_events_total", event="accept_paused_connections") > 0,
               20, "accepting pauses")
    assert answers(fleet[0].status, "/livez")
    assert fleet[0].metric("process_open_fds") <= 256 - 32
    time.sleep(3)
    assert fleet.live_peers(fleet[0]) == fleet.live_peers(fleet[1]) == 1
    for one in sockets:
        one.close()
    assert http.get(fleet[0].address, "/bucket/x").status == 200


def test_with_few_descriptors_half_heads_do_not_keep_a_good_client_waiting(world, sockets):
    """With 64 descriptors, 300 clients that send half a head and then nothing."""
    sidecar = world.fleet(1, BUCKET, start=False)[0]
    sidecar.launcher = ["prlimit", "--nofile=64:64"]
    sidecar.start()
    open_with(sockets, sidecar.address, 300, b"GET / HTTP/1.1\r\nHost: a\r\n")
    head_s = 10  # the time of a head, in which all of them would only begin to go
    answer = http.request(sidecar.address, "GET", "/bucket/x", timeout_s=head_s)
    assert answer.status == 200
    assert sidecar.metric("weir_proxy_events_total", event="client_evicted_head") > 200
    listed = [one["kind"] for one in sidecar.api("/v1/problems")["problems"]]
    assert listed == ["connections_full"]
    assert '"kind":"connections_full"' in sidecar.process.log.read_text()


def test_without_any_descriptor_it_waits_without_spinning_and_recovers(world, sockets):
    fleet = world.fleet(2, BUCKET)
    process = fleet[0].process
    kept = http.get(fleet[0].address, "/bucket/x")
    assert kept.status == 200
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    in_use = len(os.listdir(f"/proc/{process.pid}/fd"))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (in_use + 5, before[1]))
    open_with(sockets, fleet[0].address, 50, b"GET / HTTP/1.1\r\n")
    answers(fleet[0].status)  # this listener may have none to spare either
    began, cpu = time.monotonic(), process.cpu_ns()
    time.sleep(3)
    busy = (process.cpu_ns() - cpu) / (time.monotonic() - began) / SECOND
    assert fleet.live_peers(fleet[1]) == 1  # gossip needs no new ones
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
    wait_until(lambda: answers(fleet[0].status), 20, "the status listener accepts again")
    assert fleet[0].metric("weir_proxy_events_total", event="accept_paused_descriptors") > 0
    assert http.get(fleet[0].address, "/bucket/x").status == 200
    assert busy < 0.5, f"{busy:.2f} cores while it waited"


# ---- memory ----------------------------------------------------------------------------------


def test_short_of_memory_it_sheds_and_is_not_killed(world, folder, sockets):
    """36: 1,200 clients that ask for much and read nothing would hold more than there is."""
    limit = 48 << 20
    fleet = world.fleet(1, BUCKET, body_bytes=20_000_000, settings={
        "limits": {"memory": "48MiB", "buffer": "512KiB", "socket_buffer": "0B"}})
    sidecar = fleet[0]
    largest = shed = 0
    for _ in range(1200):
        made = connect(sidecar.address)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.sendall(b"GET /bucket/x HTTP/1.1\r\nHost: a\r\n\r\n")
        sockets.append(made)
        largest = max(largest, sidecar.process.resident_bytes())
        time.sleep(0.002)
    wait_until(lambda: sidecar.metric("weir_memory_shedding") == 1, 20, "it sheds")
    assert answers(sidecar.status, "/livez")
    for _ in range(5):
        shed += http.get(sidecar.address, "/bucket/x").status == 503
        largest = max(largest, sidecar.process.resident_bytes())
    print(f"largest {largest / limit:.2f} of the limit")
    assert shed == 5
    assert largest < limit
    for one in sockets:
        one.close()
    wait_until(lambda: sidecar.metric("weir_memory_shedding") == 0, 20, "memory is free again")
    # The origin has begun twenty megabytes for each of those that are gone: it answers nobody before it is
    # done with them, however long that takes on this machine.
    wait_until(lambda: is_idle(world.origin.process), 120, "the origin is done with those that are gone")
    wait_until(lambda: answers(sidecar.address, "/bucket/x", "HEAD"), 20, "it serves")
    assert sidecar.metric("weir_requests_total", reason="memory") >= 5


class EndlessOrigin:
    """Answers one request with as much as the connection takes, and counts it. Its own socket takes little."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.sent = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        made, _ = self.listener.accept()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        made.recv(4096)
        made.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        piece = bytes(16384)
        try:
            while True:
                self.sent += made.send(piece)
        except OSError:  # the test is over
            made.close()


def test_a_reader_that_stands_still_holds_no_more_than_the_socket_buffers(world, sockets):
    """33: of a download without end. Where the kernel decides, it holds megabytes."""
    origin = EndlessOrigin()
    world.ending.callback(origin.listener.close)
    sidecar = world.fleet(1, BUCKET, settings={
        "upstream": f"http://{origin.address}", "limits": {"socket_buffer": "64KiB"}})[0]
    client = connect(sidecar.address)
    sockets.append(client)
    client.sendall(b"GET /bucket/x HTTP/1.1\r\nHost: a\r\n\r\n")
    taken = 0
    while taken < 30_000_000:  # read fast at first, which lets the kernel's buffers grow as far as they may
        taken += len(client.recv(1 << 16))

    def at_rest():
        before = origin.sent
        time.sleep(0.5)
        return before == origin.sent
    wait_until(at_rest, 20, "nothing moves any more")
    # What the client's own socket holds is not weir's.
    in_the_client = int.from_bytes(fcntl.ioctl(client.fileno(), termios.FIONREAD, bytes(4)), "little")
    held_kib = (origin.sent - taken - in_the_client) / 1024
    print(f"{held_kib:.0f} KiB are held")
    assert 32 < held_kib < 512


# ---- keys without end ------------------------------------------------------------------------


def flood_keys(address, count, seed, path="/k/{}"):
    """That many requests with as many keys on one connection; {status: answers}."""
    seen = {}
    generator = random.Random(seed)
    with connect(address) as client:
        file = client.makefile("rb")
        for _ in range(count // 100):
            keys = [f"{generator.getrandbits(64):x}" for _ in range(100)]
            client.sendall(b"".join(f"GET {path.format(key)} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for key in keys))
            for _ in keys:
                status = int(file.readline().split()[1])
                length = 0
                while (line := file.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                file.read(length)
                seen[status] = seen.get(status, 0) + 1
    return seen


@pytest.mark.smoke
def test_keys_without_end_take_no_memory_and_no_one_s_limit(world):
    """42: parents hold, existing keys keep their own buckets, the rest shares one, memory is bounded."""
    parent = 300
    fleet = world.fleet(
        1, [quota("all", f"{parent}r/s"), quota("k/{key}", "5r/m", parent="all")],
        routes=[{"match": {"path": "/k/{key}"}, "quota": "k/{key}"}],
        settings={"limiter": {"max_instances": 1000}, "limits": {"pipelined_requests": 10_000}})
    sidecar = fleet[0]
    first = [http.get(sidecar.address, "/k/mine").status for _ in range(6)]
    assert first == [200] * 5 + [429]
    before = sidecar.process.resident_bytes()
    began = time.monotonic()
    seen = flood_keys(sidecar.address, 20_000, seed=42)
    lasted = time.monotonic() - began
    # It had its five, and no made-up name has emptied its bucket.
    assert http.get(sidecar.address, "/k/mine").status == 429
    print(seen, f"{lasted:.1f} s")
    assert seen[429] > 10_000
    assert seen.get(200, 0) <= parent * (lasted + 2.1)
    assert sidecar.metric("weir_limiter_instances") <= 1002
    assert sidecar.metric("weir_quota_overflow_requests_total", quota="k/{key}") > 0
    assert sidecar.process.resident_bytes() - before < 20 << 20
    # Still one series for each definition.
    assert {labels["quota"] for name, labels, _ in sidecar.metrics() if "quota" in labels} == {"all", "k/{key}"}


@pytest.mark.smoke
def test_one_template_s_keys_without_end_leave_others_room(world):
    """42: another template's new names get instances of their own, chains of two levels whole, idle ones stay."""
    fleet = world.fleet(
        1, [quota("a/{key}", "5r/h"), quota("b/{key}", "5r/h"), quota("s3/{key}", "100r/h"),
            quota("s3/{key}/write", "5r/h", parent="s3/{key}")],
        routes=[{"match": {"path": "/a/{key}"}, "quota": "a/{key}"},
                {"match": {"path": "/b/{key}"}, "quota": "b/{key}"},
                {"match": {"path": "/s3/{key}"}, "quota": "s3/{key}/write"}],
        settings={"limiter": {"max_instances": 1000}, "limits": {"pipelined_requests": 10_000}})
    sidecar = fleet[0]

    def admitted(path, requests):
        return sum(http.get(sidecar.address, path).status == 200 for _ in range(requests))

    assert admitted("/b/first", 9) == 5
    flood_keys(sidecar.address, 1200, seed=1, path="/a/{}")
    time.sleep(1.5)  # after a second without requests an instance may be replaced
    shared = sidecar.metric("weir_quota_overflow_requests_total", quota="b/{key}")
    assert admitted("/b/one", 60) == 5
    assert admitted("/b/two", 60) == 5
    assert admitted("/s3/new", 60) == 5
    flood_keys(sidecar.address, 2000, seed=2, path="/a/{}")
    assert admitted("/b/first", 5) == admitted("/b/one", 5) == admitted("/s3/new", 5) == 0
    assert sidecar.metric("weir_quota_overflow_requests_total", quota="b/{key}") == shared
    assert sidecar.metric("weir_quota_overflow_requests_total", quota="s3/{key}/write") == 0
    assert sidecar.metric("weir_limiter_instances_replaced_total") >= 4
    # Now trees fill the table themselves.
    time.sleep(1.5)
    flood_keys(sidecar.address, 1500, seed=3, path="/s3/{}")
    time.sleep(1.5)
    shared = sidecar.metric("weir_quota_overflow_requests_total", quota="s3/{key}/write")
    assert admitted("/s3/newer", 60) == 5
    assert sidecar.metric("weir_quota_overflow_requests_total", quota="s3/{key}/write") == shared
    assert sidecar.metric("weir_limiter_instances") <= 1000


# ---- disks -----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_a_full_disk_costs_lines_of_the_access_log_and_no_request(world):
    """37: the access log; test_snapshot.py has the snapshot."""
    fleet = world.fleet(1, BUCKET, settings={"access_log": "all", "access_log_file": "/dev/full"})
    sidecar = fleet[0]
    for _ in range(200):
        assert http.get(sidecar.address, "/bucket/x").status == 200
    wait_until(lambda: sidecar.metric("weir_proxy_events_total", event="access_log_failed") > 0, 20,
               "lines that could not be written are counted")
    wait_equal(lambda: sidecar.metric("weir_requests_total", outcome="admitted"), 200, "each is counted")
    assert answers(sidecar.status)


# ---- clocks ----------------------------------------------------------------------------------

@pytest.mark.smoke
def test_the_wall_clock_jumps_by_an_hour_either_way(world, folder):
    """39: buckets, timeouts and membership go by the monotonic clock."""
    library, offset = build_clock(folder)
    fleet = world.fleet(2, [quota("few", "5r/h"), quota("bucket", "100000r/s")], start=False)
    fleet[0].launcher = ["env", f"LD_PRELOAD={library}", f"WEIR_TEST_CLOCK={offset}"]
    fleet.start()

    def wall_clock():
        date = http.get(fleet[0].address, "/few/x").headers["date"]
        return time.mktime(time.strptime(date, "%a, %d %b %Y %H:%M:%S GMT")) - time.timezone

    for _ in range(5):
        assert http.get(fleet[0].address, "/few/x").status == 200
    assert http.get(fleet[0].address, "/few/x").status == 429
    for hours in (1, -1):
        offset.write_bytes(struct.pack("q", hours * 3600))
        wait_until(lambda: abs(wall_clock() - time.time() - hours * 3600) < 60, 20, "it sees the jump")
        assert [http.get(one.address, "/bucket/x").status for one in fleet] == [200, 200]
        assert http.get(fleet[0].address, "/few/x").status == 429
        time.sleep(2)
        assert [fleet.live_peers(one) for one in fleet] == [1, 1]
        assert int(http.get(fleet[0].address, "/few/x").headers["retry-after"]) < 20 * 60


# ---- bad files -------------------------------------------------------------------------------


@pytest.mark.smoke
def test_bad_settings_at_a_reload_change_nothing_and_are_counted(world):
    """40"""
    fleet = world.fleet(1, [quota("bucket", "0r/s")])
    sidecar = fleet[0]
    good = sidecar.config_file.read_text()
    for bad in (good + "listen: 1\n", "upstream: [", good.replace("/{bucket}/**", "/{bucket/**"), ""):
        failures = sidecar.metric("weir_config_reloads_total", result="failure")
        sidecar.config_file.write_text(bad)
        sidecar.reload()
        wait_until(lambda: sidecar.metric("weir_config_reloads_total", result="failure") > failures,
                   20, "the failure is counted")
        assert sidecar.metric("weir_config_last_reload_successful") == 0
        assert http.get(sidecar.address, "/bucket/x").status == 429
        assert http.get(sidecar.status, "/readyz").status == 200
    sidecar.config_file.write_text(good)
    sidecar.reload()
    wait_until(lambda: sidecar.metric("weir_config_last_reload_successful") == 1, 20, "it recovers")


# ---- restarts --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.smoke
@pytest.mark.parametrize("restarts,requests", [(3, 5_000), pytest.param(20, 100_000, marks=pytest.mark.long)])
def test_rolling_restarts_fail_no_request(world, folder, restarts, requests):
    """As Kubernetes does it: drain, the balancer takes it out, SIGTERM, the next one comes."""
    fleet = world.fleet(3, BUCKET, delay_ms=5, settings={"drain": {"keep_accepting": "2s"}})
    rate = requests / (6 * restarts) * 1.1
    # For as long as it takes: the load may not end before the restarts.
    load = Load(folder, plan(fleet.targets(), [stream("bucket", rate)], 120 * restarts, seed=43))
    time.sleep(1)
    for i in range(restarts):
        sidecar = fleet[i % 3]
        sidecar.command("drain")
        wait_until(lambda: http.get(sidecar.status, "/readyz").status == 503, 20, "readiness ends")
        time.sleep(0.3)
        load.pause(sidecar.name)
        assert sidecar.stop() == 0
        sidecar.start()
        load.resume(sidecar.name)
        time.sleep(0.5)
    wait_until(lambda: load.result.between("offered", 0, 120 * restarts) >= requests, 60, "enough were sent")
    result = load.stop()
    print(result.describe())
    assert result.total("offered") >= requests
    assert result.total("ok") == result.total("offered")
    assert world.origin.arrivals().total("bucket") >= result.total("offered")
