"""Robustness 44 to 46 and 49 with real processes: what arrives at the gossip port and is not gossip
costs nobody a request, is counted by its reason, and is never answered with more than came."""

import hashlib
import json
import random
import socket
import subprocess
import threading
import time

import pytest

from harness.lateness import ATTEMPTS, on_time
from harness.load import Load, plan, scaled, stream
from harness.network import capture, udp_drops
from harness.paths import program
from harness.processes import wait_until
from harness.sidecar import awake, quota

MAGIC, VERSION, SEALED, UNSEALED = b"wr", b"\x02", b"\x01", b"\x00"
LARGEST = 1232


class Sender(threading.Thread):
    """Sends datagrams over and over from a socket of its own, about as many a second as told."""

    def __init__(self, sidecar, datagrams, per_second):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", sidecar.gossip_port))
        self.socket.setblocking(False)
        self.datagrams = datagrams
        self.per_second = per_second
        self.tried = self.sent = 0
        self.answers = []
        self.stopping = threading.Event()

    def run(self):
        began = time.monotonic()
        while not self.stopping.is_set():
            due = int((time.monotonic() - began) * self.per_second)
            for _ in range(min(due - self.tried, 2000)):
                self.send(self.datagrams[self.tried % len(self.datagrams)])
            self.listen()
            time.sleep(0.002)

    def send(self, datagram):
        self.tried += 1
        try:
            self.socket.send(datagram)
            self.sent += 1
        except BlockingIOError:
            pass  # its buffer is full: a flood loses some

    def listen(self):
        try:
            while True:
                self.answers.append(self.socket.recv(65536))
        except OSError:
            pass

    def stop(self):
        self.stopping.set()
        self.join(10)
        self.listen()
        self.socket.close()


def key_id(sidecar):
    key = bytes.fromhex(open(sidecar.cluster["key_file"]).read().strip())
    return hashlib.blake2b(b"weir key id", key=key, digest_size=16).digest()[:4]


def junk(sidecar, real):
    """{reason: datagrams} that must be refused for it. `real`: captured ones."""
    generator = random.Random(44)

    def noise(low, high):
        return generator.randbytes(generator.randrange(low, high))

    ours = MAGIC + VERSION + SEALED + key_id(sidecar)
    flipped = [bytearray(one) for one in real[:50]]
    for one in flipped:
        one[generator.randrange(8, len(one))] ^= 1 << generator.randrange(8)
    return {
        "too_short": [b"", b"w", noise(2, 16), *(one[:15] for one in real[:5])],
        "too_long": [noise(LARGEST + 1, 60_000), real[0] + bytes(LARGEST), bytes(65_507)],
        "not_weir": [b"\x00" + noise(60, 1200) for _ in range(20)],
        "version": [MAGIC + b"\x63" + noise(60, 1200) for _ in range(20)],
        "unsealed": [MAGIC + VERSION + UNSEALED + bytes(4) + noise(60, 1200) for _ in range(20)],
        "unknown_key": [MAGIC + VERSION + SEALED + b"\xff\xfe\xfd\xfc" + noise(60, 1200) for _ in range(20)],
        "forged": [*(ours + noise(60, 1200) for _ in range(20)), *map(bytes, flipped),
                   *(one[:len(one) - 1] for one in real[:50])],
    }


@pytest.mark.slow
@pytest.mark.smoke
def test_junk_of_every_kind_costs_no_request_and_is_counted_by_reason(world, folder):
    rate = scaled(600)
    fleet = world.fleet(3, [quota("bucket", f"{rate}r/s")])
    load = Load(folder, plan(fleet.targets(), [stream("bucket", 0.9 * rate)], 14, seed=44))
    target = fleet[0]
    real = []
    for _ in range(4):  # a fleet with little to do sends few, and a busy machine delays them
        real += [one.data for one in capture(1.5, target)]
        if len(real) >= 10:
            break
    assert len(real) >= 10
    kinds = junk(target, real)
    counted = {reason: target.metric("weir_gossip_rejected_packets_total", reason=reason) for reason in kinds}
    sender = Sender(target, [one for some in kinds.values() for one in some], per_second=5_000)
    sender.start()
    time.sleep(6)
    assert all(fleet.live_peers(one) == 2 for one in fleet)
    sender.stop()
    result = load.wait()
    print(result.describe(), f"{sender.sent} datagrams of junk")
    assert sender.sent >= 5_000
    for reason, before in counted.items():
        wait_until(lambda: target.metric("weir_gossip_rejected_packets_total", reason=reason)
                   >= before + len(kinds[reason]), 20, f"{reason} is counted")
    assert sender.answers == []
    assert result.total("ok") == result.total("offered")
    assert target.metric("weir_gossip_sync_events_total", event="splits") == 0


def flood(sidecar, datagrams, per_second):
    """What weir-flood says: sent, seconds, answers."""
    done = subprocess.run([program("weir-flood"), "--to", sidecar.gossip, "--datagrams", str(datagrams),
                           "--per-second", str(per_second), "--seed", "5"],
                          capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


# At most so many a second, and at least: how many depends on what else the machine does.
@pytest.mark.xdist_group("heavy")
@pytest.mark.parametrize("per_second, at_least", [
    (110_000, 50_000), pytest.param(110_000, 100_000, marks=pytest.mark.long)])
def test_a_flood_of_junk_costs_less_than_one_request_in_a_thousand(world, folder, per_second, at_least):
    fleet = world.fleet(2, [quota("bucket", "100000r/s")])
    target = fleet[0]

    def counted():
        return target.metric("weir_gossip_rejected_packets_total"), udp_drops(target.gossip_port)
    for attempt in range(ATTEMPTS):
        place = folder / f"load-{attempt}"
        place.mkdir()
        load = Load(place, plan({target.name: target.address}, [stream("bucket", scaled(500))], 12, seed=33))
        time.sleep(3)
        before = counted()
        told = flood(target, 5 * per_second, per_second)
        # What waits in the socket is read soon; what the kernel took for it has one of two ends.
        wait_until(lambda: sum(counted()) - sum(before) >= 0.99 * told["sent"], 20, "all arrived")
        read, dropped = (now - then for now, then in zip(counted(), before))
        result = load.wait()
        rate = (read + dropped) / told["seconds"]
        print(result.describe(), f"{rate:,.0f} datagrams of junk a second arrived, {read:,.0f} read, "
                                 f"{dropped:,.0f} had no room")
        if rate >= at_least:
            break
    else:
        pytest.skip(f"not judged: this machine sends {rate:,.0f} datagrams a second at most, {at_least:,} are a flood")
    assert read >= 1000 * told["seconds"]
    assert told["answers"] == 0
    for what in ("refused", "other", "errors", "skipped"):
        assert result.total(what) <= 0.001 * result.total("offered"), what
    wait_until(lambda: all(fleet.alive_peers(one) == 1 for one in fleet), 30, "they know each other")


def level(sidecar):
    return sidecar.quota("bucket")["live"]["limits"][0]["level"]


def restart_under_load(fleet, target, load):
    load.pause(target.name)
    assert target.stop() == 0
    target.start()
    load.resume(target.name)
    fleet.wait_together()


def replay(fleet, target, real):
    """The highest level that the target shows while it is sent all of it again."""
    wait_until(lambda: target.quota("bucket")["live"], 20, "it counts")
    before = target.metric("weir_gossip_rejected_packets_total")
    sender = Sender(target, real, per_second=500)
    sender.start()
    levels = []
    for _ in range(30):
        levels.append(level(target))
        time.sleep(0.1)
    sender.stop()
    pings = len(sender.answers)

    def rejected():
        return target.metric("weir_gossip_rejected_packets_total") - before
    # Pings that name nobody may be answered, by less than came; all else is refused, as soon as
    # it is read.
    wait_until(lambda: rejected() + pings >= 0.95 * sender.sent, 20, "all of it is refused")
    print(f"{sender.sent} sent, {rejected():.0f} rejected, {pings} answered; level up to {max(levels):.1f}")
    assert sender.sent >= 500
    largest = max(len(one) for one in real)
    assert all(len(one) <= largest for one in sender.answers)
    assert sum(map(len, sender.answers)) <= sum(len(real[i % len(real)]) for i in range(sender.sent))
    assert all(fleet.live_peers(one) == 2 for one in fleet)
    return max(levels)


@pytest.mark.slow
@pytest.mark.smoke
def test_replayed_traffic_moves_nothing_and_is_not_amplified(world, folder):
    """46, 49: from another source, to the same process and to the one after it."""
    rate = scaled(300)
    fleet = world.fleet(3, [quota("bucket", awake(f"{rate}r/s"))])
    target = fleet[0]

    def run(attempt):
        load = Load(folder, plan(fleet.targets(), [stream("bucket", 0.6 * rate)], 60, seed=46), f"load-{attempt}")
        real = [one.data for one in capture(4, target)]
        assert len(real) >= 30
        first = replay(fleet, target, real)
        restart_under_load(fleet, target, load)
        second = replay(fleet, target, real)
        result = load.stop()
        print(result.describe())
        return (result, max(first, second)), result.span_ns

    def faults(outcome):
        result, highest = outcome
        found = [f"{result.total(what)} {what}" for what in ("refused", "other", "errors", "skipped")
                 if result.total(what)]
        # A fifth of a second of the rate is the low burst.
        return found + ([f"the level was {highest:.1f}"] if highest >= 0.5 * rate else [])

    # What a sidecar that stands still for half a second finds at its door afterwards is more than the low burst.
    _, found = on_time(run, faults, 0.05, lambda outcome: outcome[0].largest("max_ms") / 1000)
    assert found == []
