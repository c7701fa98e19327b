"""The demo's verdict on made-up runs: it says no as soon as one part of what the README promises fails."""

import pytest

import demo  # it finds the harness
from harness.load import SECOND, LoadResult
from harness.origin import Arrivals

BIN_NS = SECOND // 100
START_S = 1000  # of a clock that began long ago
QUIET_SENT = demo.QUIET_OFFERED * demo.END_S


def counts(factors):
    """Noisy arrivals in bins of 10 ms, those of each window at its limit times its factor."""
    bins = [0] * (demo.END_S * 100)
    for (_, from_s, to_s, limit), factor in zip(demo.WINDOWS, factors):
        total = round(factor * limit * (to_s - from_s))
        size = (to_s - from_s) * 100
        for i in range(size):
            bins[from_s * 100 + i] = total * (i + 1) // size - total * i // size
    return bins


def arrivals(*factors):
    bins = counts(factors)
    row = {"listener": "a", "key": "noisy", "first_bin": START_S * 100, "counts": bins, "total": sum(bins)}
    return Arrivals(BIN_NS, (START_S + demo.END_S) * SECOND, [row])


def quiet(answered=QUIET_SENT, sent=QUIET_SENT, refused=0):
    row = {"stream": "quiet", "target": "a", "offered": sent, "ok": answered, "refused": refused,
           "other": 0, "errors": sent - answered - refused, "skipped": 0}
    return LoadResult(start_ns=START_S * SECOND, rows=[row])


@pytest.mark.parametrize("factors", [(1, 1, 1), (1.019, 0.981, 1.019)])
def test_a_good_run_is_good(capsys, factors):
    assert demo.verdict(arrivals(*factors), quiet()) is True
    said = capsys.readouterr().out
    assert said.count(" good\n") == 3 and said.count("nothing lost") == 1
    assert said.endswith("verdict: the fleet held its limit\n")


@pytest.mark.parametrize("window", range(3))
@pytest.mark.parametrize("factor", [0, 0.97, 0.979, 1.021, 1.03, 3])
def test_one_window_off_by_more_than_two_percent_fails(capsys, window, factor):
    factors = [1, 1, 1]
    factors[window] = factor
    assert demo.verdict(arrivals(*factors), quiet()) is False
    said = capsys.readouterr().out
    assert said.count("OFF BY MORE THAN 2 %") == 1 and said.endswith("verdict: THE LIMIT DID NOT HOLD\n")


@pytest.mark.parametrize("refused", [0, 1])
def test_one_quiet_request_lost_fails(capsys, refused):
    assert demo.verdict(arrivals(1, 1, 1), quiet(QUIET_SENT - 1, refused=refused)) is False
    said = capsys.readouterr().out
    assert f"1 LOST: {refused} refused" in said and "nothing lost" not in said


def test_nothing_arrived_or_nothing_sent_fails(capsys):
    assert demo.verdict(arrivals(0, 0, 0), quiet()) is False
    assert demo.verdict(Arrivals(BIN_NS, 0, []), LoadResult(start_ns=START_S * SECOND)) is False
    assert demo.verdict(arrivals(1, 1, 1), quiet(0, 0)) is False
    assert "nothing lost" not in capsys.readouterr().out.split("verdict:")[-2]
