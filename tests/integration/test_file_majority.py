"""Quota files without a generation at three real sidecars: the fleet turns when most of them have the same file."""

import os

import yaml

from harness import http
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota, quota_set

import pytest

pytestmark = pytest.mark.smoke


def write(sidecar, rate, name="test"):
    """A file without a generation, replaced as the kubelet does."""
    document = quota_set([quota("bucket", rate)], name=name)
    del document["generation"]
    new = sidecar.quota_file.with_suffix(".new")
    new.write_text(yaml.safe_dump(document))
    os.replace(new, sidecar.quota_file)


def started(world, count=3):
    fleet = world.fleet(count, [], start=False)
    for one in fleet:
        one.cluster["agree_after"] = "1s"
        write(one, "1000r/s")
    fleet.start()
    wait_until(lambda: all(sets(one) == [("test", 1)] for one in fleet), 20, "the first decision")
    return fleet


def sets(sidecar):
    return [(row["name"], row["epoch"]) for row in sidecar.api("/v1/config")["quota_sets"]]


def rates(fleet):
    return [one.quota("bucket")["definition"]["limits"][0]["rate"] for one in fleet]


def same(sidecar):
    return [(row["definitions"] or {}).get("same") for row in sidecar.api("/v1/peers")["peers"]
            if row["state"] == "alive"]


def test_a_rolling_update_takes_effect_half_way_and_is_taken_back_like_any_change(world):
    fleet = started(world)
    assert rates(fleet) == ["1000r/s"] * 3
    wait_until(lambda: same(fleet[1]) == [True, True], 20, "all have the same")
    write(fleet[0], "5r/s")
    wait_until(lambda: fleet[0].process.log.read_text().count("a quota file waits for the fleet") == 1, 20, "it waits")
    # The fleet has the same in force, but not the same files.
    wait_until(lambda: same(fleet[1]).count(False) == 1, 20, "the other file is seen")
    assert "test@1 (other file)" in fleet[1].command("status")
    assert rates(fleet) == ["1000r/s"] * 3
    shown = fleet[0].command("status")
    assert "OTHER FILE" in shown and "! the file of test here waits until" in shown
    assert fleet[0].metric("weir_config_last_reload_successful") == 1

    write(fleet[1], "5r/s")
    wait_equal(lambda: rates(fleet), ["5r/s"] * 3, "two of three have it")
    wait_equal(lambda: [one.metric("weir_quota_set_epoch", set="test") for one in fleet], [2] * 3, "one decision")
    assert "auto @2" in fleet[2].command("status")
    assert fleet[2].quota("bucket")["source"] == "file test"

    # The third one never gets it; the change is taken back at the others.
    for one in fleet[:2]:
        write(one, "1000r/s")
    wait_equal(lambda: rates(fleet), ["1000r/s"] * 3, "it is taken back")
    wait_until(lambda: all(same(one) == [True, True] for one in fleet), 20, "all have the same again")


def test_a_sidecar_that_restarts_with_an_old_file_moves_nothing(world):
    fleet = started(world)
    for one in fleet:
        write(one, "7r/s")
    wait_equal(lambda: rates(fleet), ["7r/s"] * 3, "the fleet turns")
    assert fleet[0].stop() == 0
    write(fleet[0], "1000r/s")
    fleet[0].start()
    wait_equal(lambda: rates(fleet), ["7r/s"] * 3, "it has what the fleet has")
    # Its vote is counted, and stays one of three.
    wait_until(lambda: False in same(fleet[1]), 20, "the old file is seen")
    assert rates(fleet) == ["7r/s"] * 3
    assert all(sets(one) == [("test", 2)] for one in fleet)
    # An edit stands above all of it.
    assert http.request(fleet[2].admin, "PUT", "/v1/quotas/bucket", body='{"limits": [{"rate": "9r/s"}]}',
                        headers={"Content-Type": "application/json"}).status in (200, 201)
    wait_equal(lambda: rates(fleet), ["9r/s"] * 3, "the edit is in force")


def test_a_tie_is_told_by_both_and_ends(world):
    fleet = started(world, 2)
    write(fleet[0], "5r/s")

    def told(sidecar):
        return [one["problem"] for one in sidecar.api("/v1/problems")["problems"] if one["kind"] == "files_differ"]
    wait_until(lambda: all(told(one) for one in fleet), 40, "both tell it")
    for one in fleet:
        assert told(one)[0].startswith("the files of test differ: 1 of 2 sidecars have ")
        assert " (in force)" in told(one)[0] and fleet[0].gossip in told(one)[0]
    assert rates(fleet) == ["1000r/s"] * 2
    write(fleet[1], "5r/s")
    wait_equal(lambda: rates(fleet), ["5r/s"] * 2, "they agree")
    wait_until(lambda: not told(fleet[0]) + told(fleet[1]), 20, "it is over")


def test_a_lone_sidecar_has_its_file_at_once(world):
    sidecar = world.fleet(2, [], start=False)[0]  # its peer never starts
    write(sidecar, "3r/s")
    sidecar.start()
    assert rates([sidecar]) == ["3r/s"]
    write(sidecar, "4r/s")
    wait_equal(lambda: rates([sidecar]), ["4r/s"], "the edit is in force")
    assert sets(sidecar) == [("test", 0)]
