"""A flood on one bucket that its own limit refuses costs its quiet sibling nothing."""

from harness.load import Load, plan, stream
from harness.sidecar import quota

FLOOD = 10_000


def test_a_flood_costs_the_quiet_sibling_nothing(world, folder):
    fleet = world.fleet(3, [
        quota("service", "500r/s"),
        quota("noisy", "300r/s", parent="service"),
        quota("quiet", "300r/s", parent="service"),
    ])
    streams = [stream("noisy", [(0, 0), (2, FLOOD)]), stream("quiet", 100, "poisson")]
    result = Load(folder, plan(fleet.targets(), streams, 12, seed=7)).wait()
    print(result.describe())
    assert result.total("offered", "noisy") >= 0.99 * FLOOD * 10
    assert result.total("refused", "quiet") == 0
    for what in ("errors", "other", "skipped"):
        assert result.total(what, "quiet") == 0
    assert world.origin.arrivals().total("quiet") == result.total("offered", "quiet")
