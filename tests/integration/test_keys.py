"""Gossip keys: a rotation under load, and who has the wrong key."""

import os
import re
import subprocess
import threading
import time

import pytest

from harness.lateness import on_time
from harness.load import Load, plan, scaled, stream
from harness.paths import program
from harness.processes import wait_until
from harness.sidecar import quota

pytestmark = pytest.mark.smoke

RATE = scaled(600)
OFFERED = 0.9 * RATE
# Each sidecar hears totals several times a second; longer than this is a gap (the bound).
GAP_S = 1.0


def weir_key(*arguments):
    done = subprocess.run([program("weir"), "key", *arguments], capture_output=True, text=True,
                          timeout=15, check=True)
    return re.findall(r"^  ([0-9a-f]{8})  ", done.stdout, re.MULTILINE)


class Mount:
    """A mounted Secret: `gossip.key` is a link into `..data`, which is a link that is swapped."""

    def __init__(self, folder, content):
        self.folder = folder
        self.versions = 0
        folder.mkdir()
        self.put(content)
        self.path = folder / "gossip.key"
        self.path.symlink_to("..data/gossip.key")

    def put(self, content):
        self.versions += 1
        version = self.folder / f"..version-{self.versions}"
        version.mkdir()
        (version / "gossip.key").write_text(content)
        (version / "gossip.key").chmod(0o440)
        link = self.folder / "..new"
        link.symlink_to(version.name)
        os.replace(link, self.folder / "..data")


class Watch:
    """Polls how many totals each sidecar has received; the longest time without one, less what the sidecars
    waited for a core meanwhile."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.longest = {one.name: 0.0 for one in fleet}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        counts, changed = {}, {}
        while not self.ended.wait(0.05):
            for one in self.fleet:
                # A slow answer of a busy machine is no silence: time counts as of the question.
                asked = self._running_time()
                count = one.metric("weir_gossip_packets_total", direction="in", type="delta_answer")
                if count != counts.get(one.name):
                    counts[one.name], changed[one.name] = count, self._running_time()
                self.longest[one.name] = max(self.longest[one.name], asked - changed[one.name])

    def _running_time(self):
        return time.monotonic() - sum(one.process.waited_s() for one in self.fleet)

    def stop(self):
        self.ended.set()
        self.thread.join(30)
        return self.longest


def keyed_fleet(world, folder, quotas):
    """Three sidecars, each with a mount of its own, which all begin with the same key."""
    master = folder / "master.key"
    weir_key(master)
    fleet = world.fleet(3, quotas, start=False)
    mounts = []
    for one in fleet:
        mounts.append(Mount(folder / f"{one.name}-secret", master.read_text()))
        one.cluster["key_file"] = str(mounts[-1].path)
    return fleet, master, mounts


def keys_of(sidecar):
    return sidecar.api("/v1/status")["gossip"]["keys"]


def strangers_of(sidecar):
    return sidecar.api("/v1/status")["gossip"]["strangers"]


def rotate(fleet, master, mounts):
    """A whole rotation, each sidecar some time after the one before."""
    for step in ("--add", "--swap", "--drop"):
        ids = weir_key(step, master)
        for one, mount in zip(fleet, mounts):
            mount.put(master.read_text())
            wait_until(lambda: keys_of(one) == ids, 20, f"{one.name} has the keys of {step}")
            time.sleep(0.7)  # the fleet is of two minds for a while
        wait_until(lambda: all(row["key"] == ids[0] for one in fleet
                               for row in one.api("/v1/peers")["peers"]
                               if row["state"] in ("alive", "self")), 20, "all seal with the first")


@pytest.mark.slow
def test_a_rotation_under_load_has_no_gap(world, folder):
    fleet, master, mounts = keyed_fleet(world, folder, [quota("bucket", f"{RATE}r/s")])
    fleet.start()

    def run(attempt):
        (old,) = weir_key("--show", master)
        place = folder / f"load-{attempt}"
        place.mkdir()
        before = [one.metric("weir_gossip_sync_events_total", event="splits") for one in fleet]
        load = Load(place, plan(fleet.targets(), [stream("bucket", OFFERED)], 120, seed=58))
        time.sleep(4)
        watch = Watch(fleet)
        rotate(fleet, master, mounts)
        longest = watch.stop()
        result = load.stop()
        print(result.describe(), longest)
        assert old not in keys_of(fleet[0])
        splits = sum(one.metric("weir_gossip_sync_events_total", event="splits") for one in fleet) - sum(before)
        return (longest, result, splits), result.span_ns

    def faults(outcome):
        longest, result, splits = outcome
        found = [f"{splits} splits"] if splits else []
        found += [f"{name} heard no answer for {gap:.2f} s" for name, gap in longest.items() if gap >= GAP_S]
        if result.total("refused") > 0.001 * result.total("offered"):
            found.append(f"refused {result.total('refused')}")
        return found + [f"{result.total(what)} {what}" for what in ("errors", "other") if result.total(what)]

    # A sidecar that stands still for half a second takes it for a stop, and begins anew after it.
    _, found = on_time(run, faults, 0.05)
    assert found == []
    for one in fleet:
        assert one.metric("weir_gossip_rejected_packets_total", reason="unknown_key") == 0
        assert one.metric("weir_gossip_key_info", use="second") == 0
    wait_until(lambda: all(fleet.alive_peers(one) == len(fleet) - 1 for one in fleet), 20, "they know each other")


def test_a_wrong_key_names_itself_on_both_sides(world, folder):
    fleet, master, mounts = keyed_fleet(world, folder, [quota("bucket", "100r/s")])
    (good,) = weir_key("--show", master)
    stray = folder / "stray.key"
    (bad,) = weir_key(stray)
    mounts[2].put(stray.read_text())
    for one in fleet:
        one.start(wait=False)
    for one in fleet:
        one.wait_ready()
    for one in fleet:
        ours, theirs = (bad, good) if one is fleet[2] else (good, bad)
        strangers = [fleet[0], fleet[1]] if one is fleet[2] else [fleet[2]]

        def told():
            seen = {(row["address"], row["key"], row["reason"]) for row in strangers_of(one)}
            return seen >= {(other.gossip, theirs, "unknown_key") for other in strangers}

        wait_until(told, 20, f"{one.name} names the wrong key")
        assert one.metric("weir_gossip_rejected_packets_total", reason="unknown_key") > 0
        text = one.command("status")
        assert "GOSSIP TROUBLE" in text and f"sealed with key {ours}" in text
        for other in strangers:
            assert re.search(f"{other.gossip} under key {theirs}, .*does not have", text), text
            assert f"{other.gossip} is a seed, but no peer is known there" in text
        wait_until(lambda: one.process.log.read_text().count(f'"key":"{theirs}"') == len(strangers),
                   20, f"{one.name} logs each of them once")
        assert f'"our_keys":"{ours}"' in one.process.log.read_text()
    # Put right, they meet, and the trouble ends.
    mounts[2].put(master.read_text())
    fleet.wait_together()
    assert keys_of(fleet[2]) == [good]
    wait_until(lambda: all(not one.api("/v1/status")["gossip"]["silent_seeds"] for one in fleet),
               20, "all seeds are peers")


def test_the_old_key_is_refused_after_its_removal(world, folder):
    """One sidecar misses the rotation's last steps: the others go on without it and say so."""
    fleet, master, mounts = keyed_fleet(world, folder, [quota("bucket", "100r/s")])
    fleet.start()
    (old,) = weir_key("--show", master)
    for step in ("--add", "--swap", "--drop"):
        ids = weir_key(step, master)
        for mount in mounts if step == "--add" else mounts[:2]:
            mount.put(master.read_text())
        wait_until(lambda: keys_of(fleet[0]) == ids and keys_of(fleet[1]) == ids, 20, step)
    assert keys_of(fleet[2])[0] == old
    wait_until(lambda: any(row["key"] == old and row["reason"] == "unknown_key"
                           for row in strangers_of(fleet[0])), 20, "the old key is refused")
    # It still accepts the new key, so its view of the others lives on; theirs of it does not.
    wait_until(lambda: fleet.live_peers(fleet[0]) == 1, 30, "it is given up")


@pytest.mark.quick
def test_a_bad_key_file_changes_nothing_and_is_told(world, folder):
    fleet, master, mounts = keyed_fleet(world, folder, [quota("bucket", "100r/s")])
    fleet.start()
    (good,) = weir_key("--show", master)
    mounts[0].put("not a key\n")
    wait_until(lambda: fleet[0].metric("weir_config_last_reload_successful") == 0, 20, "it is told")
    assert keys_of(fleet[0]) == [good]
    text = fleet[0].command("status")
    assert "FAILED" in text and "line 1" in text and "not a key\n" not in text
    mounts[0].put(master.read_text())
    wait_until(lambda: fleet[0].metric("weir_config_last_reload_successful") == 1, 20, "it is over")
    assert fleet.live_peers(fleet[0]) == 2


@pytest.mark.parametrize("how", ["hangup", "replaced"])
def test_a_plain_key_file_is_noticed(world, folder, how):
    fleet = world.fleet(1, [quota("bucket", "100r/s")], start=False)
    path = folder / "plain.key"
    weir_key(path)
    fleet[0].cluster = {"name": "test", "join": [], "key_file": str(path)}
    fleet.start()
    ids = weir_key("--add", path)
    if how == "hangup":
        fleet[0].reload()
    wait_until(lambda: keys_of(fleet[0]) == ids, 20, "both keys are in use")


def test_a_key_file_of_others_is_refused_until_its_mode_is_put_right(world, folder):
    """As the message advises: nothing but chmod, which changes neither the file's time nor its content."""
    fleet = world.fleet(1, [quota("bucket", "100r/s")], start=False)
    path = folder / "plain.key"
    weir_key(path)
    fleet[0].cluster = {"name": "test", "join": [], "key_file": str(path)}
    fleet.start()
    before = keys_of(fleet[0])
    new = folder / "new.key"
    ids = weir_key(new)
    new.chmod(0o604)
    os.replace(new, path)
    wait_until(lambda: fleet[0].metric("weir_config_last_reload_successful") == 0, 20, "it is refused")
    assert keys_of(fleet[0]) == before
    path.chmod(0o600)
    wait_until(lambda: keys_of(fleet[0]) == ids, 20, "the new key is in use")
    assert fleet[0].metric("weir_config_last_reload_successful") == 1
