"""One limit held by a sidecar, nginx, a Go program and a C++ program together."""

import contextlib
import time

import pytest
import yaml

from conftest import EXAMPLES
from harness import http
from harness.load import SECOND, Load, plan, stream
from harness.origin import Origin
from harness.processes import wait_equal, wait_until
from harness.sidecar import Fleet
from harness.steadiness import fitted_rate
from members import GoProxy, LimitedClient, Nginx, peers_seen, wait_ready

QUOTAS = yaml.safe_load((EXAMPLES / "quotas.yaml").read_text())
LIMIT = 100
NGINX_WORKERS = 2
SPACE_PER_MINUTE = 8  # its rate, and so its burst
MEMBERS = ["sidecar", "nginx", "go", "cpp"]


class World:
    def __init__(self, folder, listeners):
        self.folder = folder
        self.ending = contextlib.ExitStack()
        self.origin = self.add(Origin(folder, listeners=listeners))

    def add(self, part):
        self.ending.callback(part.stop)
        return part

    def sidecars(self, count, **settings):
        """Sidecars with the examples' own quota document."""
        fleet = Fleet(self.folder, count, QUOTAS["quotas"], self.origin,
                      settings={"quotas": [str(EXAMPLES / "quotas.yaml")], **settings})
        self.add(fleet)
        return fleet


@pytest.fixture
def world(folder):
    made = []

    def make(listeners):
        made.append(World(folder, listeners))
        return made[0]

    yield make
    for one in made:
        one.ending.close()


def members_of(world, installed, built):
    """One sidecar (of a fleet of two, so that it has seeds), nginx and Go, all in one fleet."""
    fleet = world.sidecars(2)
    fleet[0].upstream = world.origin.addresses["sidecar"]
    fleet.start()
    nginx = world.add(Nginx(installed, world.folder, fleet, world.origin.addresses["nginx"],
                            fleet[0].address))
    go = world.add(GoProxy(installed, built, world.folder, fleet, world.origin.addresses["go"]))
    wait_ready(nginx, go)
    return fleet, nginx, go


def test_four_kinds_of_members_hold_one_limit_together(installed, built, folder, world):
    world = world(MEMBERS)
    fleet, nginx, go = members_of(world, installed, built)
    others = len(fleet) - 1 + NGINX_WORKERS + 1
    wait_until(lambda: fleet.alive_peers(fleet[0]) == others, 30, "the sidecar sees all members")
    wait_until(lambda: peers_seen(go.address) == others, 30, "so does the Go program")
    seconds = 16
    load = Load(folder, plan({"sidecar": fleet[0].address, "nginx": nginx.address,
                              "go": go.address},
                             [stream("shared", 210, arrivals="poisson")], seconds, seed=11))
    client = world.add(LimitedClient(installed, built, folder, fleet,
                                     world.origin.addresses["cpp"], "shared", 70, seconds))
    result = load.wait()
    cpp = client.result()
    print(result.describe(), cpp)
    arrivals = world.origin.arrivals()
    # After the burst, and after the C++ program has met the fleet.
    start, end = load.start_ns + 4 * SECOND, load.start_ns + (seconds - 1) * SECOND
    admitted = arrivals.between(start, end, key="shared")
    by_member = {name: arrivals.between(start, end, key="shared", listener=name)
                 for name in MEMBERS}
    rate = fitted_rate(arrivals.bins(start, seconds - 5, key="shared"))
    print(f"admitted {admitted} in {seconds - 5} s, {rate:.1f} a second: {by_member}")
    assert result.total("errors") == 0 and cpp["failed"] == 0
    assert result.total("ok") + cpp["admitted"] == arrivals.total("shared")
    assert 0.94 * LIMIT <= rate <= 1.06 * LIMIT
    # Each was offered a quarter of 280/s and shed alike.
    for name, count in by_member.items():
        assert 0.7 * admitted / 4 <= count <= 1.3 * admitted / 4, name


def test_nginx_peeks_and_the_sidecar_behind_it_charges(installed, folder, world):
    world = world(["behind", "beside"])
    fleet = world.sidecars(2, judging_proxies=["127.0.0.1"])
    behind, beside = fleet
    behind.upstream, beside.upstream = (world.origin.addresses[name]
                                        for name in ("behind", "beside"))
    fleet.start()
    nginx = world.add(Nginx(installed, folder, fleet, world.origin.addresses["behind"],
                            behind.address))
    wait_ready(nginx)
    wait_until(lambda: fleet.alive_peers(behind) == 1 + NGINX_WORKERS, 30, "all see each other")
    seconds = 14
    load = Load(folder, plan({"nginx": nginx.peeking, "beside": beside.address},
                             [stream("shared", 250, arrivals="poisson", shares=[4, 1])], seconds,
                             seed=12))
    result = load.wait()
    arrivals = world.origin.arrivals()
    start, end = load.start_ns + 4 * SECOND, load.start_ns + (seconds - 1) * SECOND
    admitted = {name: arrivals.between(start, end, key="shared", listener=name)
                for name in ("behind", "beside")}
    rate = fitted_rate(arrivals.bins(start, seconds - 5, key="shared"))
    print(result.describe(), admitted, rate)
    assert result.total("errors") == 0
    assert 0.94 * LIMIT <= rate <= 1.06 * LIMIT
    assert admitted["behind"] > 2 * admitted["beside"]
    # The sidecar behind was sent what had been let through, judged none of it and charged all.
    passed = result.total("ok", target="nginx")
    assert behind.metric("weir_requests_total", outcome="refused") == 0
    wait_equal(lambda: behind.metric("weir_proxy_events_total", event="judged_in_front"), passed, "judged in front")
    wait_equal(lambda: behind.metric("weir_quota_admitted_total", quota="shared"), passed, "charged")


def test_nginx_and_go_hold_a_user_and_a_space_at_once(installed, built, folder, world):
    fleet, nginx, go = members_of(world(MEMBERS), installed, built)

    def answers_of(member, user, space, count):
        """The quotas that refused, in order; "" where the request passed. A pause lets nginx's two workers
        learn of each other's requests."""
        named = []
        for _ in range(count):
            named.append(http.get(member.address, f"/both/{user}/{space}/object").headers.get("x-weir-quota", ""))
            time.sleep(0.1)
        return named

    for name, member in (("nginx", nginx), ("go", go)):
        started = time.monotonic()
        ann = answers_of(member, f"ann-{name}", f"blue-{name}", 12)
        assert 5 <= ann.count("") <= 7 and ann[-1] == f"user/ann-{name}", ann
        # Ann has left little of the space, which drains meanwhile: any of these may be the one that passes.
        bob = answers_of(member, f"bob-{name}", f"blue-{name}", 6)
        passed = ann.count("") + bob.count("")
        drained = SPACE_PER_MINUTE / 60 * (time.monotonic() - started)
        assert set(bob) <= {"", f"space/blue-{name}"} and f"space/blue-{name}" in bob, bob
        assert passed <= SPACE_PER_MINUTE + drained + NGINX_WORKERS, (ann, bob)
        assert answers_of(member, f"bob-{name}", f"red-{name}", 1) == [""]


def test_members_say_goodbye_when_they_end(installed, built, folder, world):
    world = world(MEMBERS)
    fleet, nginx, go = members_of(world, installed, built)
    others = len(fleet) - 1 + NGINX_WORKERS + 1
    wait_until(lambda: fleet.alive_peers(fleet[0]) == others, 30, "the sidecar sees all members")
    assert nginx.stop() == 0
    assert go.stop() == 0
    rows = wait_until(lambda: gone(fleet[0], NGINX_WORKERS + 1), 10, "three members have left")
    assert {row["state"] for row in rows} == {"left"}
    log = (folder / "nginx.log").read_text()
    assert "[error]" not in log and "[alert]" not in log, log


def gone(sidecar, count):
    rows = sidecar.api("/v1/peers")
    rows = rows.get("peers", rows) if isinstance(rows, dict) else rows
    rows = [row for row in rows if row["state"] in ("left", "dead")]
    return rows if len(rows) == count else None
