"""What the bench reckons from the answers of its members, and what it says of goals."""

import pytest

from fleet import CONTROL, Figures, Window
from fleet_bench import table, verdict_of
from rows import WITHOUT_A_CORE, Figure, Row
from storms import Usual


def answer(before_s, after_s, run_s, page_s=0.001, waited_s=0.0, datagrams=0, size=0, admitted=0, staleness=0.0):
    """One member's figures: what its control thread had run before a page, which took page_s of it."""
    def threads(run):
        return {CONTROL: {"run_s": run, "waited_s": waited_s}}
    page = "\n".join([f'weir_gossip_datagrams_total{{direction="out"}} {datagrams}',
                      f'weir_gossip_bytes_total{{direction="out"}} {size}',
                      f"weir_gossip_staleness_seconds {staleness}", "weir_gossip_isolated_limits 0"])
    stream = {"prefix": "hot/", "admitted": admitted, "admitted_by_name": [admitted]}
    return Figures({"before_s": before_s, "after_s": after_s, "threads": threads(run_s),
                    "threads_after": threads(run_s + page_s), "page_s": page_s, "metrics": page, "live_peers": 2,
                    "loads": [{"running": True, "streams": [stream]}]})


def test_no_page_is_in_the_time_of_the_control_thread():
    window = Window([answer(0, 1, run_s=5.0, page_s=0.4), answer(6, 7, run_s=5.9, page_s=0.3),
                     answer(11, 12, run_s=6.9, page_s=0.5)])
    # From 5.4 to 6.9 in the ten seconds between the pages, less one page at the price of the cheapest.
    assert window.control_percent() == pytest.approx(100 * (1.5 - 0.3) / 10)


def test_counts_are_divided_by_the_time_between_what_was_read():
    window = Window([answer(0, 2, 0, datagrams=100, size=10_000, admitted=10),
                     answer(10, 11, 0, datagrams=190, size=19_000, admitted=60)])
    assert window.rate("weir_gossip_datagrams_total", direction="out") == pytest.approx(10)  # pages: 2 s to 11 s
    assert window.kilobytes("out") == pytest.approx((9000 + 90 * 28) / 9 / 1000)
    assert window.by_name("hot/") == [pytest.approx(5)]  # requests: 0 s to 10 s


def test_a_load_that_began_within_the_window_is_counted():
    first = answer(0, 0, 0)
    first.told["loads"] = []
    assert Window([first, answer(10, 10, 0, admitted=20)]).by_name("hot/") == [pytest.approx(2)]


@pytest.mark.parametrize("values, goal, waited, verdict", [
    ([1, 2], 2, 0, "holds"),
    ([1, 3], 2, 0, "**missed**"),
    ([1, 2], 2, 50, "does not count"),
    ([1, 3], 2, 50, "**missed**"),
    ([0.995], (0.99, 1.01), 0, "holds"),
    ([0.98], (0.99, 1.01), 0, "**missed**"),
    ([1], 0, 0, "**missed**"),
])
def test_verdicts(values, goal, waited, verdict):
    figure = Figure("what", values, "", goal)
    assert verdict_of(figure, [figure, Figure(WITHOUT_A_CORE, [waited])]) == verdict


def test_a_table_shows_what_only_one_of_two_builds_counts():
    told = table(Row("row", "a row", None), {"measured": [Figure("a", [1]), Figure("b", [2], "KB/s", 3)],
                                            "the other": [Figure("a", [4])]}, details=False)
    assert "| a | 1 | 4 |  |  |" in told
    assert "| b | 2 KB/s | – | ≤ 3 | holds, – |" in told


def test_a_second_is_usual_only_if_all_members_are():
    def second(**more):
        return [Window([answer(0, 0, 0), answer(1, 1, 0.1, 0.0, **one)]) for one in (more, {})]
    usual = Usual([second(size=20_000)], peers=2)
    assert usual.like(second(size=30_000))
    assert not usual.like(second(size=60_000))
    assert not usual.like(second(staleness=5.0))
    assert not usual.like([*second(), None])
