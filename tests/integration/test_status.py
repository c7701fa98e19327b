"""`weir status`: hashes that tell whether a fleet is of one mind, and limits by their staleness."""

import json
import re

import pytest
import yaml

from harness.load import Load, plan, stream
from harness.network import Split
from harness.processes import wait_until
from harness.sidecar import awake, quota

pytestmark = pytest.mark.smoke


def from_status(sidecar):
    """(of settings, of quotas), as people see them."""
    text = sidecar.command("status")
    return (re.search(r"^config .*\(hash (\w+)\)", text, re.MULTILINE).group(1),
            re.search(r"^quotas +hash (\w+)", text, re.MULTILINE).group(1))


def from_metrics(sidecar):
    """The same, as Prometheus sees them."""
    found = [labels for name, labels, _ in sidecar.metrics() if name == "weir_config_info"]
    assert len(found) == 1, found
    return found[0]["hash"], found[0]["quotas_hash"]


def hashes(sidecar):
    """What both say. They are asked one after the other, and definitions may arrive between."""
    def same():
        seen = from_status(sidecar)
        return seen if from_metrics(sidecar) == seen else None
    return wait_until(same, 20, "status and metrics say the same")


@pytest.mark.quick
def test_the_quotas_hash_is_the_fleet_s_and_changes_with_the_file(world):
    quotas = [quota("bucket", "100r/s"), quota("other", "5r/s")]
    fleet = world.fleet(3, quotas)

    def agreed():
        seen = {hashes(one)[1] for one in fleet}
        return seen.pop() if len(seen) == 1 else None

    first = wait_until(agreed, 20, "all have the same")
    fleet[1].write_quotas([quota("bucket", "200r/s"), quota("other", "5r/s")], generation=2)
    fleet[1].reload()
    second = wait_until(lambda: hashes(fleet[1])[1] != first and agreed(), 20, "all have the new one")
    assert second != first
    # What holds, not which file says so: back to what it was, it is the first one again.
    fleet[2].write_quotas(quotas, generation=3)
    fleet[2].reload()
    wait_until(lambda: agreed() == first, 20, "all are back")


def test_the_config_hash_is_that_of_what_is_written(world):
    fleet = world.fleet(1, [quota("bucket", "100r/s")])
    sidecar = fleet[0]
    before = hashes(sidecar)
    settings = yaml.safe_load(sidecar.config_file.read_text())

    def rewritten(document):
        loads = sidecar.metric("weir_config_reloads_total", result="success")
        sidecar.config_file.write_text(yaml.safe_dump(document, sort_keys=False))
        sidecar.reload()
        wait_until(lambda: sidecar.metric("weir_config_reloads_total", result="success") > loads,
                   20, "it is read")
        return hashes(sidecar)

    assert rewritten(settings) == before
    after = rewritten({**settings, "timeouts": {"request_head": "7s"}})
    assert after[0] != before[0] and after[1] == before[1]
    assert rewritten(settings) == before


def test_limits_are_shown_by_staleness(world, folder):
    fleet = world.fleet(3, [quota("bucket", awake("100r/s", "100ms")), quota("other", awake("5r/s", "1r"))])
    victim, others = fleet[2], list(fleet)[:2]
    load = Load(folder, plan(fleet.targets(), [stream("bucket", 60), stream("other", 3)], 60, seed=7))

    def limits(sidecar):
        return json.loads(sidecar.command("status", "-o", "json"))["status"]["gossip"]["limits"]

    def all_heard():
        rows = limits(victim)
        return rows if len(rows) == 2 and all(row["believed"] == 2 for row in rows) else None

    rows = wait_until(all_heard, 20, "both owners of both limits are heard")
    assert {row["quota"] for row in rows} == {"bucket", "other"}
    assert {(row["unit"], row["period"], row["owners"]) for row in rows} == {("requests", "1s", 2)}
    with Split([victim], others):
        rows = wait_until(lambda: [row for row in limits(victim) if row["isolated"]], 20, "it is isolated")
        assert rows[0]["silent_seconds"] > 0.5
        table = victim.command("status").split("LIMIT ")[1]
        assert re.search(r"(bucket|other) requests/1s +[\d.]+m?s ago +\d of 2 +ISOLATED", table), table
        shown = [row["silent_seconds"] for row in limits(victim)]
        assert shown == sorted(shown, reverse=True)
    wait_until(all_heard, 20, "they are heard again")
    load.stop()
