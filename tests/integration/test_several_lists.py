"""A request with several lists of names: the limits of its user and of its space are held at once."""

import subprocess

import pytest

from harness import http
from harness.load import SECOND, Load, plan, stream
from harness.paths import program
from harness.processes import wait_until
from harness.sidecar import quota
from harness.steadiness import fitted_rate

USER, FULL, ROOMY = 300, 200, 2000
QUOTAS = [quota("user/{u}", f"{USER}r/s"), quota("space/full", f"{FULL}r/s"), quota("space/roomy", f"{ROOMY}r/s")]
# The first segment is for the origin, which counts by it.
ROUTES = [{"match": {"path": "/*/{user}/{space}/**"}, "quotas": [["user/{user}", "anonymous"], ["space/{space}"]]}]
# {user and space: requests a second}; "busy" is over the user's limit, "full" over the space's.
OFFERED = {("busy", "full"): 800, ("busy", "roomy"): 800, ("one", "full"): 200, ("two", "full"): 200}


def names_of(user=None, space=None):
    return [f"{u}-{s}" for u, s in OFFERED if user in (None, u) and space in (None, s)]


def admitted_by(fleet, name):
    return http.metric_sum([sample for sidecar in fleet for sample in sidecar.metrics()],
                           "weir_quota_admitted_total", quota=name)


@pytest.mark.slow
def test_the_limits_of_a_user_and_of_a_space_are_held_at_once(world, folder):
    fleet = world.fleet(3, QUOTAS, routes=ROUTES)
    steady_from_s, steady_s = 4, 15
    streams = [stream(f"{user}-{space}", rate, path=f"/{user}-{space}/{user}/{space}/object")
               for (user, space), rate in OFFERED.items()]
    result = Load(folder, plan(fleet.targets(), streams, steady_from_s + steady_s + 0.5, seed=7)).wait()
    arrivals = world.origin.arrivals()
    begin_ns = result.start_ns + steady_from_s * SECOND

    def rate_of(names):
        bins = [arrivals.bins(begin_ns, steady_s, name) for name in names]
        return fitted_rate([sum(column) for column in zip(*bins)])

    rates = {name: rate_of([name]) for name in names_of()}
    print(f"{result.describe()}; {rates}")
    assert result.total("errors") + result.total("other") + result.total("skipped") == 0
    assert 0.98 <= rate_of(names_of(user="busy")) / USER <= 1.02
    assert 0.98 <= rate_of(names_of(space="full")) / FULL <= 1.02
    # Both shed a part of what the busy user sends to the full space: z (1 + q) = 300, q (z + 400) = 200.
    assert 0.9 <= rates["busy-full"] / 72.5 <= 1.1
    assert 0.9 <= rates["one-full"] / rates["two-full"] <= 1.1
    # Each request that passed is charged to both, once.
    for name, streams_of in (("user/{u}", names_of()), ("space/full", names_of(space="full")),
                             ("space/roomy", names_of(space="roomy"))):
        assert admitted_by(fleet, name) == sum(arrivals.total(one) for one in streams_of)


@pytest.mark.smoke
def test_lists_without_a_quota_are_counted_warned_of_and_shown_as_problems(world):
    routes = [{"match": {"path": "/{user}/{space}/**"}, "quotas": [["user/{user}"], ["spaces/{space}"]]}]
    sidecar = world.fleet(1, [quota("user/{u}", "2r/h"), quota("space/{w}", "2r/h")], routes=routes)[0]
    assert [http.get(sidecar.address, "/ann/blue/x").status for _ in range(3)] == [200, 200, 429]
    assert sidecar.metric("weir_partly_unlimited_requests_total", route="routes[0]") == 3
    assert sidecar.metric("weir_unlimited_requests_total", route="routes[0]") == 0
    wrong = "routes[0].quotas[1]: there is no quota 'spaces/{space}', so this list limits nothing"
    wait_until(lambda: any(wrong in one["problem"] for one in sidecar.api("/v1/problems")["problems"]), 30, "it is told")
    said = subprocess.run([program("weir"), "validate", "--config", sidecar.config_file], capture_output=True,
                          text=True, timeout=30)
    assert wrong in said.stdout + said.stderr and said.returncode == 0
