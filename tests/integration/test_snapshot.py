"""What the API changed, kept over a stop of the whole fleet (`snapshot.file`), and what goes wrong."""

import random
import subprocess
import time

import pytest

from harness import http
from harness.processes import wait_until
from harness.sidecar import quota

pytestmark = pytest.mark.smoke

QUOTAS = [quota("bucket", "1000r/s"), quota("other", "1000r/s")]


def keep(fleet, directory=None, **more):
    """Each sidecar gets a file of its own."""
    for one in fleet:
        one.snapshot = (directory or one.folder) / f"overrides-{one.name}"
        one.settings = {**one.settings, "snapshot": {"file": str(one.snapshot), **more}}


def kept_fleet(world, count, directory=None, **more):
    fleet = world.fleet(count, QUOTAS, start=False)
    keep(fleet, directory, **more)
    return fleet.start()


def kill_all(fleet):
    for one in fleet:
        one.kill()


def rate(sidecar, name="bucket"):
    definition = sidecar.quota(name).get("definition")
    return definition and definition["limits"][0]["rate"]


def saved(sidecar):
    samples = sidecar.metrics()
    return (http.metric_sum(samples, "weir_snapshot_saves_total", result="success") > 0
            and http.metric_sum(samples, "weir_snapshot_unsaved") == 0)


def wait_saved(fleet):
    for one in fleet:
        wait_until(lambda: saved(one), 20, f"{one.name} has written its snapshot")


def found(sidecar, result):
    return sidecar.metric("weir_snapshot_loads_total", result=result)


def log_lines(sidecar, text):
    return [line for line in sidecar.process.log.read_text().splitlines() if text in line]


def test_a_fleet_that_is_killed_whole_keeps_what_was_set(world):
    fleet = kept_fleet(world, 3)
    fleet[0].command("quota", "set", "bucket", "--rate", "7r/s", "--who", "ann", "--why", "sale")
    fleet[1].command("quota", "set", "fresh", "--rate", "5r/s", "--expires", "1h")
    fleet[2].command("quota", "set", "other", "--absent")
    fleet[0].command("quota", "set", "gone", "--rate", "9r/s")
    wait_until(lambda: rate(fleet[1], "gone"), 20, "the edit is at the other one")
    fleet[1].command("quota", "rm", "gone")
    for one in fleet:
        wait_until(lambda: (rate(one), rate(one, "fresh"), rate(one, "other"), rate(one, "gone"))
                   == ("7r/s", "5r/s", None, None), 20, f"{one.name} has the edits")
    wait_saved(fleet)
    kill_all(fleet)
    fleet.start()
    for one in fleet:
        assert found(one, "loaded") == 1
        assert (rate(one), rate(one, "fresh"), rate(one, "other"), rate(one, "gone")) == ("7r/s", "5r/s", None, None)
        assert "ann" in one.command("quota", "get", "bucket", "--history")
        assert 3000 < one.quota("fresh")["expires_in_seconds"] <= 3600
        assert http.get(one.address, "/bucket/x").status == 200
    # Without the override the limit would be a thousand.
    status = [http.get(fleet[0].address, "/bucket/x").status for _ in range(60)]
    assert status.count(429) > 0
    # Edits go on above what was kept.
    fleet[2].command("quota", "set", "bucket", "--rate", "8r/s")
    for one in fleet:
        wait_until(lambda: rate(one) == "8r/s", 20, f"{one.name} has the newer edit")


def test_an_old_snapshot_undoes_no_newer_edit(world):
    fleet = kept_fleet(world, 2)
    first, second = fleet
    first.command("quota", "set", "bucket", "--rate", "7r/s")
    first.command("quota", "set", "gone", "--rate", "9r/s")
    wait_until(lambda: rate(second, "gone") == "9r/s", 20, "the edits are at the other one")
    wait_saved(fleet)
    second.kill()
    first.command("quota", "set", "bucket", "--rate", "70r/s")
    first.command("quota", "rm", "gone")
    second.start()
    assert found(second, "loaded") == 1
    wait_until(lambda: rate(second) == "70r/s" and rate(second, "gone") is None, 20,
               "it has the newer edits")
    time.sleep(1.5)  # a digest each second: the old one had its chance
    assert rate(first) == "70r/s" and rate(first, "gone") is None


def test_killed_again_and_again_while_it_writes(world):
    sidecar = kept_fleet(world, 1)[0]
    turns = random.Random(5)
    done = 0
    for turn in range(8):
        until = time.monotonic() + turns.uniform(0.3, 1.6)  # a save begins every second
        before = rate(sidecar, "counted")
        while time.monotonic() < until:
            done += 1
            answer = http.request(sidecar.admin, "PUT", "/v1/quotas/counted", headers={"Content-Type": "application/json"},
                                  body='{"limits": [{"rate": "%dr/s"}]}' % done)
            assert answer.status in (200, 201)
        sidecar.kill()
        sidecar.start()
        assert found(sidecar, "refused") == 0, sidecar.log_tail()
        now = int((rate(sidecar, "counted") or "0r/s")[:-3])
        assert int((before or "0r/s")[:-3]) <= now <= done
    wait_until(lambda: saved(sidecar), 20, "written")
    assert not log_lines(sidecar, "not used")


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "foreign"])
def test_a_bad_snapshot_is_refused_once_and_it_serves(world, damage):
    fleet = kept_fleet(world, 1)
    sidecar = fleet[0]
    sidecar.command("quota", "set", "bucket", "--rate", "7r/s")
    wait_saved(fleet)
    sidecar.kill()
    good = sidecar.snapshot.read_bytes()
    half = len(good) // 2
    bad = {"truncated": good[:-3], "empty": b"", "foreign": b"listen: 0.0.0.0:8080\n",
           "flipped": good[:half] + bytes([good[half] ^ 16]) + good[half + 1:]}[damage]
    sidecar.snapshot.write_bytes(bad)
    sidecar.process.log.write_text("")
    sidecar.start()
    assert found(sidecar, "refused") == 1
    assert rate(sidecar) == "1000r/s"  # the file's
    assert [http.get(sidecar.address, "/bucket/x").status for _ in range(20)] == [200] * 20
    assert len(log_lines(sidecar, "the snapshot is not used")) == 1
    assert "REFUSED" in sidecar.command("status")
    if damage == "foreign":
        wait_until(lambda: sidecar.metric("weir_snapshot_saves_total", result="failure") >= 2, 20, "it tried")
        assert sidecar.snapshot.read_bytes() == bad  # somebody else's
        return
    assert sidecar.snapshot.with_name(sidecar.snapshot.name + ".refused").read_bytes() == bad
    sidecar.command("quota", "set", "bucket", "--rate", "8r/s")
    wait_saved(fleet)
    sidecar.kill()
    sidecar.start()
    assert found(sidecar, "loaded") == 1 and rate(sidecar) == "8r/s"


def test_a_full_disk_costs_no_request_and_is_told(world):
    """A limit on the size of files stands for it: what is written does not fit."""
    fleet = world.fleet(1, QUOTAS, start=False)
    keep(fleet)
    sidecar = fleet[0]
    sidecar.launcher = ["prlimit", "--fsize=16:unlimited", "--"]
    sidecar.settings["log"] = {"level": "off"}  # the log is a file as well
    fleet.start()
    sidecar.command("quota", "set", "bucket", "--rate", "700r/s")
    wait_until(lambda: sidecar.metric("weir_snapshot_saves_total", result="failure") >= 2, 20, "it tried again")
    assert [http.get(sidecar.address, "/bucket/x").status for _ in range(20)] == [200] * 20
    assert rate(sidecar) == "700r/s"
    assert sidecar.metric("weir_snapshot_unsaved") == 1
    assert "CANNOT BE WRITTEN" in sidecar.command("status")
    assert "File too large" in sidecar.command("status")
    assert not sidecar.snapshot.exists()
    # There is room again.
    subprocess.run(["prlimit", f"--pid={sidecar.process.pid}", "--fsize=unlimited:unlimited"], check=True, timeout=10)
    wait_saved(fleet)
    assert "CANNOT" not in sidecar.command("status")
    sidecar.kill()
    sidecar.launcher = []
    sidecar.start()
    assert rate(sidecar) == "700r/s"


def test_a_directory_that_is_not_there_is_told_once_and_used_when_it_comes(world, folder):
    place = folder / "volume"
    fleet = kept_fleet(world, 1, place)
    sidecar = fleet[0]
    wait_until(lambda: sidecar.metric("weir_snapshot_saves_total", result="failure") >= 2, 20, "it tried again")
    assert len(log_lines(sidecar, "the snapshot cannot be written")) == 1
    assert http.get(sidecar.address, "/bucket/x").status == 200
    place.mkdir()
    wait_saved(fleet)
    assert len(log_lines(sidecar, "the snapshot is written again")) == 1


@pytest.mark.quick
def test_what_was_changed_just_before_sigterm_is_kept(world):
    sidecar = kept_fleet(world, 1)[0]
    sidecar.command("quota", "set", "bucket", "--rate", "7r/s")
    assert sidecar.stop() == 0
    sidecar.start()
    assert rate(sidecar) == "7r/s"


def test_a_snapshot_of_long_ago_is_refused(world):
    sidecar = kept_fleet(world, 1, max_age="1s")[0]
    sidecar.command("quota", "set", "bucket", "--rate", "7r/s")
    wait_until(lambda: saved(sidecar), 20, "written")
    sidecar.kill()
    time.sleep(1.5)
    sidecar.start()
    assert found(sidecar, "refused") == 1 and rate(sidecar) == "1000r/s"
    assert log_lines(sidecar, "beyond snapshot.max_age")


def test_without_the_setting_nothing_is_written(world):
    sidecar = world.fleet(1, QUOTAS)[0]
    sidecar.command("quota", "set", "bucket", "--rate", "7r/s")
    assert sidecar.metric("weir_snapshot_saves_total") == 0
    assert "snapshot" not in sidecar.command("status")
    sidecar.kill()
    sidecar.start()
    assert rate(sidecar) == "1000r/s"
