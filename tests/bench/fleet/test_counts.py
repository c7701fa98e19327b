"""What a small fleet sends and looks at, by counts that do not depend on how fast the machine is: the short form of
fleet_bench.py, which CI runs. Loads are small enough for a core that is busy otherwise."""

import shutil
import time

import pytest

from fleet import Fleet
from harness.paths import RUNS
from harness.processes import bad_endings, wait_until
from harness.sidecar import quota

MEMBERS = 3
TICKS_PER_SECOND = 100
# What members tell each other about limits; all else is membership and definitions.
ABOUT_LIMITS = ("delta", "delta_answer", "total", "handover", "name_ask", "name_tell", "quiet", "quiet_answer",
                "quiet_order")
REST_S = 120  # by when names that nobody uses must be at rest

QUIET_AFTER_S = 2  # by when the owners have been told of names that were used once
SETTLED_S = 7  # by when owners that lose nothing tell each other seldom

SMALL_RATE = 100
FLOOD = 100  # times that

# The most that is allowed at any member.
MOST = {
    "idle: messages about limits": 0,
    "idle: limits looked at": 0,
    "idle: datagrams a second": 20,
    "used once and at rest: messages about limits": 0,
    "used once and at rest: limits looked at": 0,
    "used once and at rest: datagrams a second": 20,
    "one quota at 3,000/s: messages about limits a second": 24,
    "one quota at 3,000/s: datagrams a second": 28,
    "one quota at 3,000/s: limits looked at by a tick": 2,
    "one quota at 30,000/s: messages about limits a second": 24,
    "one quota at 30,000/s: datagrams a second": 28,
    "one quota at 30,000/s: limits looked at by a tick": 2,
    "2,000 names at 1/s: messages about limits per 1,000 requests": 4,
    "2,000 names at 1/s: limits looked at by a tick": 0.1,
    "2,000 names at 1/s: datagrams a second": 20,
    "2,000 names at 1/s: refused": 0,
}


def judge(what, values):
    """All members' values against the bound of that name."""
    most = MOST[what]
    told = ", ".join(f"{value:.2f}" for value in values)
    print(f"{what}: {told} (at most {most})")
    assert max(values) <= most, what


@pytest.fixture
def fleet(request):
    """A fleet whose members know each other, and which has to end well."""
    folder = RUNS / "fleet-counts" / request.node.name
    shutil.rmtree(folder, ignore_errors=True)
    quotas = [quota("user/{id}", "10r/s"), quota("hot/{id}", "1000r/s"),
              quota("small/{id}", {"rate": f"{SMALL_RATE}r/s", "low": "10r", "high": "20r"})]
    with Fleet(folder, MEMBERS, quotas) as made:
        made.wait_up()
        yield made
    assert bad_endings(folder) == []


def about_limits(window):
    """Messages out, of the kinds above."""
    return sum(window.grown("weir_gossip_packets_total", direction="out", type=kind) for kind in ABOUT_LIMITS)


def looks(window):
    return window.grown("weir_gossip_sync_events_total", event="looks")


def datagrams(window):
    return window.rate("weir_gossip_datagrams_total", direction="out")


def nothing_is_due(fleet, when):
    windows = fleet.windows(3)
    judge(f"{when}: messages about limits", [about_limits(one) for one in windows])
    judge(f"{when}: limits looked at", [looks(one) for one in windows])
    judge(f"{when}: datagrams a second", [datagrams(one) for one in windows])


def test_an_idle_fleet_looks_at_no_limit(fleet):
    nothing_is_due(fleet, "idle")


def test_names_used_once_come_to_rest(fleet):
    names = 2000
    fleet.load(60, [{"prefix": "user/", "names": names, "rate": names, "most": names, "arrivals": "even"}])
    fleet.wait_used(60)

    def at_rest():
        return all(one.metric("weir_gossip_awake_limits") == 0 for one in fleet.figures())

    wait_until(at_rest, REST_S, "all names are at rest", every_s=0.5)
    assert all(one.loads("admitted") == names for one in fleet.figures())
    time.sleep(QUIET_AFTER_S)
    nothing_is_due(fleet, "used once and at rest")


@pytest.mark.parametrize("rate", [3000, 30_000])
def test_what_one_quota_costs_does_not_grow_with_its_requests(fleet, rate):
    fleet.load(SETTLED_S + 6, [{"prefix": "hot/", "rate": rate / MEMBERS}])
    fleet.windows(SETTLED_S)
    windows = fleet.windows(5)
    what = f"one quota at {rate:,}/s"
    judge(f"{what}: messages about limits a second", [about_limits(one) / one.page_seconds for one in windows])
    judge(f"{what}: limits looked at by a tick",
          [looks(one) / one.page_seconds / TICKS_PER_SECOND for one in windows])
    judge(f"{what}: datagrams a second", [datagrams(one) for one in windows])


def test_names_far_below_their_limits(fleet):
    names, seconds = 2000, 8
    fleet.load(seconds, [{"prefix": "user/", "names": names, "rate": names / MEMBERS, "arrivals": "even"}])
    fleet.windows(4)
    windows = fleet.windows(4)
    requests = [one.loads("admitted") + one.loads("refused") + one.loads("isolated") for one in windows]
    assert min(requests) > 0
    what = f"{names:,} names at 1/s"
    judge(f"{what}: messages about limits per 1,000 requests",
          [1000 * about_limits(one) / sent for one, sent in zip(windows, requests)])
    judge(f"{what}: limits looked at by a tick",
          [looks(one) / one.page_seconds / TICKS_PER_SECOND for one in windows])
    judge(f"{what}: datagrams a second", [datagrams(one) for one in windows])
    judge(f"{what}: refused", [one.loads("refused") + one.loads("isolated") for one in windows])


def test_a_flood_does_not_close_a_small_burst(fleet):
    """It would fill the burst within a millisecond. Each member must not believe that it did."""
    warm_up_s, seconds = 2, 8
    fleet.load(warm_up_s + seconds + 2, [{"prefix": "small/", "rate": FLOOD * SMALL_RATE / MEMBERS}])
    fleet.windows(warm_up_s)
    windows = fleet.windows(seconds)
    offered = sum((one.loads("admitted") + one.loads("refused")) / one.load_seconds for one in windows)
    admitted = sum(one.loads("admitted") / one.load_seconds for one in windows)
    print(f"offered {offered / SMALL_RATE:.1f} times the limit, admitted {admitted / SMALL_RATE:.3f}")
    assert offered > FLOOD / 2 * SMALL_RATE
    assert 0.9 * SMALL_RATE < admitted < 1.1 * SMALL_RATE
