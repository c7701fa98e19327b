"""Quota files without a generation while something is wrong with a part of the fleet: sidecars that crash again and
again, one that was started by hand, a split, a set that is taken away, and half of the fleet with the old file."""

import os
import time

import pytest
import yaml

from harness.network import Split
from harness.processes import wait_equal, wait_until
from test_file_majority import rates, same, sets, started, write

OLD, NEW, OTHER = "1000r/s", "5r/s", "7r/s"
AGREE_AFTER_S = 1


def differing(sidecar):
    return [one["problem"] for one in sidecar.api("/v1/problems")["problems"] if one["kind"] == "files_differ"]


def stays(fleet, rate, seconds):
    """Looked at all the time: a fleet that turns and turns back is found, too."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert rates(fleet) == [rate] * len(fleet)
        time.sleep(0.1)


def take_away(sidecar):
    new = sidecar.quota_file.with_suffix(".new")
    new.write_text(yaml.safe_dump({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "test", "quotas": []}))
    os.replace(new, sidecar.quota_file)


def names(sidecar):
    return [row["name"] for row in sidecar.api("/v1/quotas")["quotas"]]


def test_sidecars_that_crash_again_and_again_decide_nothing(world):
    """With the one that runs they would be three of five, but none of them lives long enough to vote."""
    fleet = started(world, 5)
    steady, crashing = fleet[:3], fleet[3:]
    write(steady[2], NEW)
    for one in crashing:
        one.kill()
        write(one, NEW)
    for _ in range(6):
        for one in crashing:
            one.start(wait=False)
        stays(steady, OLD, 0.6 * AGREE_AFTER_S)
        for one in crashing:
            one.kill()
    assert all(sets(one) == [("test", 1)] for one in steady)
    for one in crashing:
        one.start()
    wait_equal(lambda: rates(fleet), [NEW] * 5, "those that run on are counted", 40)


def test_one_sidecar_with_a_file_of_its_own_moves_nothing(world):
    *fleet, debug = world.fleet(4, [], start=False)
    for one in (*fleet, debug):
        one.cluster["agree_after"] = f"{AGREE_AFTER_S}s"
        write(one, OTHER if one is debug else OLD)
    for one in fleet:
        one.start()
    wait_until(lambda: all(sets(one) == [("test", 1)] for one in fleet), 20, "the first decision")
    debug.start()
    wait_equal(lambda: rates([debug]), [OLD], "it takes what the fleet has")
    wait_until(lambda: all(differing(one) for one in (*fleet, debug)), 40, "everybody tells that files differ")
    told, = differing(fleet[0])
    assert told.startswith("the files of test differ: 3 of 4 sidecars have ") and debug.gossip in told
    stays([*fleet, debug], OLD, 3 * AGREE_AFTER_S)
    assert debug.stop() == 0
    wait_until(lambda: not any(differing(one) for one in fleet), 40, "it is over when that one is gone")
    assert all(sets(one) == [("test", 1)] for one in fleet)


def test_a_split_with_a_change_on_each_side_ends_in_the_change_of_most(world):
    fleet = started(world, 5)
    many, few = fleet[:3], fleet[3:]
    with Split(many, few):
        wait_until(lambda: all(same(one) == [True] for one in few), 30, "each side is alone")
        wait_until(lambda: all(same(one) == [True, True] for one in many), 30, "each side is alone")
        for one in fleet:
            write(one, NEW if one in many else OTHER)
        wait_equal(lambda: rates(many), [NEW] * 3, "three of five have it, those that are silent included")
        stays(few, OLD, 3 * AGREE_AFTER_S)
    wait_equal(lambda: rates(fleet), [NEW] * 5, "the split is over", 60)
    assert all(sets(one) == [("test", 2)] for one in fleet)
    for one in few:
        write(one, NEW)
    wait_until(lambda: all(same(one) == [True] * 4 for one in fleet), 30, "all have the same files")


@pytest.mark.smoke
def test_a_set_goes_with_a_file_without_quotas_at_most_and_comes_back_like_any_change(world):
    fleet = started(world)
    take_away(fleet[0])
    stays(fleet, OLD, 2 * AGREE_AFTER_S)
    take_away(fleet[1])
    wait_equal(lambda: [names(one) for one in fleet], [[]] * 3, "two of three have taken it away")
    # The third one's file still has the quotas; a restart with it brings nothing back.
    fleet[2].kill()
    fleet[2].start()
    wait_equal(lambda: names(fleet[2]), [], "it hears that the set was taken away", 20)
    time.sleep(2 * AGREE_AFTER_S)
    assert [names(one) for one in fleet] == [[]] * 3
    for one in fleet[:2]:
        write(one, NEW)
    wait_equal(lambda: [names(one) for one in fleet], [["bucket"]] * 3, "it is back")
    assert rates(fleet) == [NEW] * 3


@pytest.mark.parametrize("seconds", [5, pytest.param(600, marks=pytest.mark.long)])
def test_half_of_the_fleet_on_the_old_file(world, seconds):
    fleet = started(world, 4)
    for one in fleet[:2]:
        write(one, NEW)
    wait_until(lambda: all(differing(one) for one in fleet), 40, "each tells who has what")
    stays(fleet, OLD, seconds)
    assert all(sets(one) == [("test", 1)] for one in fleet)
    write(fleet[2], NEW)
    wait_equal(lambda: rates(fleet), [NEW] * 4, "three of four have it")
    write(fleet[3], NEW)
    wait_until(lambda: not any(differing(one) for one in fleet), 40, "it is over")
