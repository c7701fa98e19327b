"""Anchors: members without a proxy that own the limits of real sidecars."""

import re
import socket
import subprocess
import time

import pytest
import yaml

from harness import http
from harness.load import Load, plan, stream
from harness.paths import ROOT, program
from harness.processes import wait_until
from harness.sidecar import awake, quota

# A window that begins after all have joined, and whose owner has learnt, is shared equally.
SETTLED_S = 2.5
WINDOW = quota("window", {"window": "900r/10m", "from": "first"})


def anchor_of_docs():
    """The settings of the documentation's anchor."""
    block, = re.findall(r"```yaml\n# anchor.yaml\n(.*?)```", (ROOT / "docs" / "cluster.md").read_text(), re.DOTALL)
    return yaml.safe_load(block)


def start_with_anchors(world, anchors, quotas):
    """A fleet of three, of which the first ones are anchors, set up as the documentation says."""
    fleet = world.fleet(3, quotas, start=False)
    for one in list(fleet)[:anchors]:
        described = anchor_of_docs()
        as_sidecar = one.config()
        # What a sidecar's file has beside it stays, and has no effect.
        one.settings = {key: value for key, value in described.items() if key in ("role", "snapshot")}
        one.settings["snapshot"]["file"] = str(one.folder / "snapshot")
        assert set(described) <= {*as_sidecar, *one.settings}
        assert set(described["cluster"]) <= set(as_sidecar["cluster"])
    return fleet.start()


def roles(sidecar):
    return {row["address"]: row["role"] for row in sidecar.api("/v1/peers")["peers"] if row["state"] != "left"}


def owners(sidecar, name):
    """The owners of the quota's limit, the first one first."""
    return sidecar.quota(name)["live"]["limits"][0]["owners"]


def allowance(sidecar, name):
    """How much the sidecar may admit of the quota's limit by now."""
    return sidecar.quota(name)["live"]["limits"][0]["allowance"]


def is_open(address):
    host, port = address.rsplit(":", 1)
    with socket.socket() as client:
        client.settimeout(2)
        return client.connect_ex((host, int(port))) == 0


def admit(sidecar, name, requests):
    """How many of so many requests are admitted."""
    return sum(http.get(sidecar.address, f"/{name}/x").status == 200 for _ in range(requests))


def use_up(sidecar):
    """Uses what is left of the window. Whoever asks for more waits for the answer no request long."""
    wait_until(lambda: admit(sidecar, "window", 100) == 0, 30, "the window is used up", 0.5)


def test_the_example_is_a_good_file(folder):
    (folder / "anchor.yaml").write_text(yaml.safe_dump(anchor_of_docs()))
    (folder / "quotas.yaml").write_text(yaml.safe_dump(
        {"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "test", "quotas": [quota("q", "10r/s")]}))
    done = subprocess.run([program("weir"), "validate", "--strict", "--config", folder / "anchor.yaml"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.smoke
def test_an_anchor_has_no_proxy_is_seen_by_all_and_leaves_in_order(world):
    fleet = start_with_anchors(world, 1, [quota("q", "100r/s")])
    anchor, *sidecars = fleet
    assert not is_open(anchor.address)
    assert all(is_open(sidecar.address) for sidecar in sidecars)
    expected = {anchor.gossip: "anchor", **{sidecar.gossip: "sidecar" for sidecar in sidecars}}
    for one in fleet:
        assert roles(one) == expected
        assert one.metric("weir_gossip_anchors") == 1
        assert one.metric("weir_role_info", role=expected[one.gossip]) == 1
    assert re.search(rf"{anchor.gossip} +anchor +self ", anchor.command("status"))
    assert re.search(rf"{anchor.gossip} +anchor +alive ", sidecars[0].command("status"))
    assert anchor.api("/v1/config")["settings"]["role"]["value"] == "anchor"
    assert sidecars[0].api("/v1/config")["settings"]["role"] == {"value": "sidecar", "source": "default"}
    # What only a proxy can be asked for is there, and is nothing.
    assert anchor.metric("weir_requests_total") == 0
    assert anchor.metric("weir_inflight_requests") == 0
    assert not {"no_routes", "upstream_unresolved"} & {one["kind"] for one in anchor.api("/v1/status")["problems"]}
    anchor.reload()
    wait_until(lambda: anchor.metric("weir_config_reloads_total") > 0, 20, "the anchor has read its files again")
    assert not is_open(anchor.address)
    anchor.command("drain")
    wait_until(lambda: http.get(anchor.status, "/readyz").status == 503, 20, "the anchor is not ready any more")
    assert anchor.stop() == 0
    wait_until(lambda: sidecars[0].metric("weir_gossip_anchors") == 0, 20, "the anchor has left")


def test_a_changed_role_waits_for_a_restart(world):
    fleet = start_with_anchors(world, 1, [quota("q", "100r/s")])
    sidecar = fleet[1]
    sidecar.config_file.write_text(yaml.safe_dump({**sidecar.config(), "role": "anchor"}))
    wait_until(lambda: "role" in sidecar.api("/v1/config")["after_restart"], 20, "the role waits for a restart")
    assert is_open(sidecar.address)
    assert fleet[0].metric("weir_gossip_anchors") == 1


@pytest.mark.slow
def test_an_anchor_owns_the_limits_first_and_the_fleet_goes_on_without_it(world, folder):
    fleet = start_with_anchors(world, 1, [quota("q", awake("200r/s"))])
    anchor, *sidecars = fleet
    load = stream("q", 600, "poisson", (0.5, 0.5), path="/q/x")

    def admitted_under_load(seed):
        before = world.origin.arrivals().total()
        result = Load(folder, plan(fleet.targets(sidecars), [load], 8, seed=seed)).wait()
        print(result.describe())
        assert result.total("errors") + result.total("other") == 0
        return world.origin.arrivals().total() - before

    first = admitted_under_load(1)
    for sidecar in sidecars:
        assert owners(sidecar, "q")[0] == anchor.gossip
    assert anchor.metric("weir_gossip_owned_limits") == 1
    assert anchor.metric("weir_gossip_synced_limits") == 0
    assert 1500 < first < 1850
    anchor.kill()
    wait_until(lambda: all(sidecar.metric("weir_gossip_anchors") == 0 for sidecar in sidecars), 30,
               "the sidecars have given the anchor up")
    assert 1500 < admitted_under_load(2) < 1850
    assert anchor.gossip not in owners(sidecars[0], "q")


@pytest.mark.slow
def test_equal_parts_are_those_of_the_sidecars(world):
    fleet = start_with_anchors(world, 1, [WINDOW, quota("flight", {"concurrency": 12})])
    anchor, *sidecars = fleet
    time.sleep(SETTLED_S)
    for sidecar in sidecars:
        assert admit(sidecar, "flight", 1) == admit(sidecar, "window", 1) == 1
        assert allowance(sidecar, "flight") >= 6
        assert allowance(sidecar, "window") == 450
    wait_until(lambda: anchor.metric("weir_gossip_windows", side="kept") == 1, 20, "the anchor keeps the counts")
    # What one has not used, the other may.
    use_up(sidecars[0])
    assert 899 <= world.origin.arrivals().total() - len(sidecars) <= 901


@pytest.mark.slow
def test_the_only_sidecar_asks_its_anchors_what_it_admitted_before_it_was_restarted(world):
    fleet = start_with_anchors(world, 2, [WINDOW])
    sidecar = fleet[2]
    time.sleep(SETTLED_S)
    assert admit(sidecar, "window", 400) == 400
    sidecar.stop()
    sidecar.start()
    fleet.wait_together()
    use_up(sidecar)
    assert 895 <= world.origin.arrivals().total() <= 901
