"""A parent that sheds refuses those of its children that ask for most, over all sidecars."""

from dataclasses import dataclass

import pytest

from harness.load import SECOND, Load, plan, stream
from harness.network import Loss
from harness.sidecar import quota
from harness.steadiness import fitted_rate

RATE = 300
ROUTES = [{"match": {"path": "/{tenant}/**"}, "quota": ["shop/{tenant}"]}]
STEADY_FROM_S, STEADY_S = 6, 15


def admitted(world, folder, quotas, offered, shares=None, routes=ROUTES):
    """The fleet, and what was seen of each tenant."""
    fleet = world.fleet(3, quotas, routes=routes)
    return fleet, under_load(world, folder, fleet, offered, shares)


@dataclass
class Seen:
    """Of each tenant, in the steady time."""

    asked: dict  # requests a second
    refused: dict  # requests
    rate: dict  # admitted requests a second: the slope, on which a machine that stands still hardly weighs


def under_load(world, folder, fleet, offered, shares=None):
    streams = [stream(name, rate, "poisson", shares=(shares or {}).get(name)) for name, rate in offered.items()]
    result = Load(folder, plan(fleet.targets(), streams, STEADY_FROM_S + STEADY_S + 0.5, seed=5)).wait()
    assert result.total("errors") + result.total("other") == 0
    begin_ns = result.start_ns + STEADY_FROM_S * SECOND
    arrivals = world.origin.arrivals()

    def sent(what, name):
        return result.between(what, STEADY_FROM_S, STEADY_FROM_S + STEADY_S, stream=name)

    return Seen(asked={name: sent("offered", name) / STEADY_S for name in offered},
                refused={name: sent("refused", name) for name in offered},
                rate={name: fitted_rate(arrivals.bins(begin_ns, STEADY_S, name)) for name in offered})


def loses_little(seen, name):
    """At most 1 % of its requests are refused, or one."""
    return seen.refused[name] <= max(1, 0.01 * seen.asked[name] * STEADY_S)


@pytest.mark.slow
def test_a_noisy_tenant_takes_nothing_from_a_quiet_one(world, folder):
    quotas = [quota("shop", f"{RATE}r/s"), quota("shop/{tenant}", parent="shop")]
    fleet, seen = admitted(world, folder, quotas, {"noisy": 900, "quiet": 100})
    print(seen)
    assert seen.asked["quiet"] == pytest.approx(100, rel=0.1)  # chance has more or fewer arrive
    assert loses_little(seen, "quiet")
    assert seen.rate["noisy"] == pytest.approx(RATE - seen.asked["quiet"], rel=0.05)
    assert sum(seen.rate.values()) == pytest.approx(RATE, rel=0.03)
    # Each sidecar counted the refusals of the noisy one as such, and nobody was refused otherwise.
    for sidecar in fleet:
        assert sidecar.metric("weir_requests_total", outcome="refused", reason="share") > 100


# Of 300 a second, those that ask for 3 and 30 get all of it, and the other two half of what is left each.
FOUR = {"tiny": 3, "quiet": 30, "noisy": 300, "noisiest": 1500}


def check_four(seen):
    """Each gets its part within 5 %, and the quiet ones lose less than 1 %, or one request."""
    assert loses_little(seen, "tiny") and loses_little(seen, "quiet")
    line = (RATE - seen.asked["tiny"] - seen.asked["quiet"]) / 2
    assert seen.rate["noisy"] == pytest.approx(line, rel=0.05)
    assert seen.rate["noisiest"] == pytest.approx(line, rel=0.05)
    assert sum(seen.rate.values()) == pytest.approx(RATE, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("lost_percent", [0, 30])
def test_four_tenants_get_what_max_min_fairness_gives_them(world, folder, lost_percent):
    quotas = [quota("shop", f"{RATE}r/s"), quota("shop/{tenant}", parent="shop")]
    fleet = world.fleet(3, quotas, routes=ROUTES)
    with Loss(fleet, lost_percent) as loss:
        seen = under_load(world, folder, fleet, FOUR)
        lost = loss.lost()
    print(seen, lost)
    assert lost == 0 if lost_percent == 0 else lost > 100
    check_four(seen)


@pytest.mark.slow
def test_shares_on_single_sidecars(world, folder):
    quotas = [quota("shop", f"{RATE}r/s"), quota("shop/{tenant}", parent="shop"),
              quota("shop/large", parent="shop", share=3)]
    _, seen = admitted(world, folder, quotas, {"large": 600, "small": 600}, {"large": [1, 0, 0], "small": [0, 1, 0]})
    print(seen)
    assert seen.rate["large"] == pytest.approx(225, rel=0.05)
    assert seen.rate["small"] == pytest.approx(75, rel=0.05)


@pytest.mark.slow
def test_branches_divide_among_their_users_what_the_shop_leaves_them(world, folder):
    """The shop's limit is the narrow one: its branches get a half each, whatever they ask for."""
    offered = {"books-noisy": 600, "books-quiet": 30, "toys-noisy": 300, "toys-quiet": 50}
    quotas = [quota("shop", "240r/s", fair=True)]
    for branch in ("books", "toys"):
        quotas += [quota(branch, "1000r/s", parent="shop"), quota(branch + "/{user}", parent=branch)]
    routes = [{"match": {"path": f"/{name}/**"}, "quota": name.replace("-", "/")} for name in offered]
    _, seen = admitted(world, folder, quotas, offered, routes=routes)
    print(seen)
    for branch in ("books", "toys"):
        noisy, quiet = f"{branch}-noisy", f"{branch}-quiet"
        assert seen.refused[quiet] <= max(1, 0.05 * seen.asked[quiet] * STEADY_S)
        assert seen.rate[noisy] == pytest.approx(120 - seen.asked[quiet], rel=0.07)
    assert sum(seen.rate.values()) == pytest.approx(240, rel=0.03)
