"""Changes of quotas on both sides of a split, with real processes: after it healed every sidecar has
the same set, the newest change of each name holds everywhere, and every history shows both sides."""

import contextlib

import pytest

from harness import http
from harness.network import Split
from harness.processes import wait_until
from harness.sidecar import quota

OPEN, SHUT = "1000r/s", "0r/s"


def edit(sidecar, who, name, rate):
    """An edit's version, by which the winner is told: epoch first, then writer."""
    sidecar.command("quota", "set", name, "--rate", rate, "--who", who, "--why", f"{who} says {rate}")
    return version(sidecar, name)


def remove(sidecar, who, name):
    sidecar.command("quota", "rm", name, "--who", who, "--why", f"{who} takes it back")
    return version(sidecar, name)


def history(sidecar, name):
    return sidecar.api(f"/v1/quotas/{name}?history=true").get("history", [])  # none: it knows no such name


def version(sidecar, name):
    row = history(sidecar, name)[0]
    return row["epoch"], int(row["writer"], 16)


def has_change_of(sidecars, who, name):
    for one in sidecars:
        wait_until(lambda: any(row["who"] == who for row in history(one, name)), 20,
                   f"{one.name} has what {who} said of {name}")


@contextlib.contextmanager
def split(fleet):
    """The two halves, when each has given up the other; healed behind it, when all are the same."""
    left, right = fleet[:2], fleet[2:]
    with Split(left, right):
        wait_until(lambda: all(len(heard_of(one)) == 1 for one in fleet), 30, "each half is alone")
        yield left, right
        for side in (left, right):
            wait_until(lambda: len(quotas_hashes(side)) == 1, 20, "each half is of one mind")
        assert quotas_hashes(left) != quotas_hashes(right)
    fleet.wait_together()
    wait_until(lambda: len(quotas_hashes(fleet)) == 1, 30, "all have the same quotas in force")
    wait_until(lambda: all(row["definitions"] and row["definitions"]["same"] for one in fleet
                           for row in one.api("/v1/peers")["peers"] if row["state"] == "alive"),
               30, "each says of every other one that it has the same")
    assert all(f"hash {quotas_hashes(fleet).pop()}" in one.command("status") for one in fleet)


def heard_of(sidecar):
    return [row for row in sidecar.api("/v1/peers")["peers"] if row["state"] in ("alive", "suspect")]


def quotas_hashes(sidecars):
    return {one.api("/v1/config")["quotas_hash"] for one in sidecars}


def assert_rate_everywhere(world, fleet, name, rate, source):
    """By what is shown, and by what is admitted: `rate` is OPEN or SHUT."""
    world.origin.reset()
    for one in fleet:
        shown = one.command("quota", "get", name)
        assert f"limits    {rate}" in shown, (one.name, shown)
        assert source in next(line for line in shown.splitlines() if line.startswith("source")), shown
        row = next(line for line in one.command("quota", "list").splitlines() if line.startswith(name + " "))
        assert f" {rate} " in row and source in row, row
        status = 200 if rate == OPEN else 429
        wait_until(lambda: http.get(one.address, f"/{name}/x").status == status, 20,
                   f"{one.name} answers {name} with {status}")
    admitted = {row["key"] for row in world.origin.arrivals().series}
    assert (name in admitted) == (rate == OPEN)


def assert_history_everywhere(fleet, name, authors, state_of_losers=("replaced", "overruled")):
    """Newest first: who said it, and when."""
    for one in fleet:
        wait_until(lambda: {row["who"] for row in history(one, name)} == set(authors), 20,
                   f"{one.name} shows what {authors} said of {name}")
        rows = history(one, name)
        versions = [(row["epoch"], int(row["writer"], 16)) for row in rows]
        assert versions == sorted(versions, reverse=True)
        assert rows[0]["state"] == "current"
        assert all(row["state"] in state_of_losers for row in rows[1:]), rows
        assert all(0 <= row["age_seconds"] < 600 for row in rows), rows
        text = one.command("quota", "get", name, "--history")
        assert all(f"epoch {row['epoch']} by {row['writer']}" in text and row["who"] in text for row in rows)
    assert len({str([(row["epoch"], row["writer"], row["who"]) for row in history(one, name)])
                for one in fleet}) == 1


@pytest.mark.slow
def test_edits_of_both_sides_are_the_same_everywhere_after_the_split(world):
    fleet = world.fleet(4, [quota("other", "5r/s")])
    with split(fleet) as (left, right):
        # Both write their first change: equal epochs, so the higher writer's holds.
        tie = {edit(left[0], "ann", "tie", SHUT): ("ann", SHUT), edit(right[1], "bob", "tie", OPEN): ("bob", OPEN)}
        assert len({epoch for epoch, _ in tie}) == 1
        # The side that wrote more has the higher epoch, though the other one was later.
        edit(right[1], "bob", "right-only", SHUT)
        newer = edit(right[1], "bob", "contested", SHUT)
        older = edit(left[0], "ann", "contested", OPEN)
        assert newer[0] > older[0]
        edit(left[0], "ann", "left-only", SHUT)
        has_change_of(left, "ann", "left-only")
        has_change_of(right, "bob", "contested")
    who, rate = tie[max(tie)]
    assert_rate_everywhere(world, fleet, "tie", rate, "api")
    assert all(history(one, "tie")[0]["who"] == who for one in fleet)
    for name in ("contested", "left-only", "right-only"):
        assert_rate_everywhere(world, fleet, name, SHUT, "api")
    assert_history_everywhere(fleet, "tie", {"ann", "bob"})
    assert_history_everywhere(fleet, "contested", {"ann", "bob"})
    assert_history_everywhere(fleet, "left-only", {"ann"})
    assert_history_everywhere(fleet, "right-only", {"bob"})


@pytest.mark.slow
@pytest.mark.smoke
def test_names_deleted_edited_and_made_again_across_a_split(world):
    names = ["edited", "removed", "remade"]
    fleet = world.fleet(4, [quota(name, OPEN) for name in names])
    for name in names:
        edit(fleet[0], "eve", name, "77r/s")
    for name in names:
        has_change_of(fleet, "eve", name)
    with split(fleet) as (left, right):
        # Deleted here and edited there: the newer of the two, whichever it is.
        taken_back = remove(left[0], "ann", "edited")
        for rate in ("5r/s", SHUT):
            kept = edit(right[0], "bob", "edited", rate)
        assert kept > taken_back
        lost = edit(right[0], "bob", "removed", SHUT)
        for rate in ("6r/s", "7r/s", "8r/s"):
            edit(left[0], "ann", "removed", rate)
        assert remove(left[0], "ann", "removed") > lost
        # Deleted and made again there; the deletion of this side arrives when the split is over.
        late = remove(left[1], "ann", "remade")
        has_change_of(right, "bob", "removed")
        for _ in range(2):  # from what is known there their epochs end above the one of `late`
            remove(right[1], "bob", "remade")
            remade = edit(right[1], "bob", "remade", SHUT)
        assert remade > late
        has_change_of(left, "ann", "remade")
        has_change_of(right, "bob", "remade")
    assert_rate_everywhere(world, fleet, "edited", SHUT, "api")
    assert_rate_everywhere(world, fleet, "removed", OPEN, "file test#1")
    assert_rate_everywhere(world, fleet, "remade", SHUT, "api")
    for name, newest in (("edited", "set"), ("removed", "removed"), ("remade", "set")):
        for one in fleet:
            wait_until(lambda: {"ann", "bob"} <= {row["who"] for row in history(one, name)}, 20,
                       f"{one.name} shows both sides of {name}")
            assert history(one, name)[0]["kind"] == newest
            text = one.command("quota", "get", name, "--history")
            assert "ann" in text and "bob" in text
    # The removal that lost is in the histories of those who never obeyed it as well.
    for one in fleet:
        assert any(row["kind"] == "removed" and row["who"] == "ann" for row in history(one, "remade"))
