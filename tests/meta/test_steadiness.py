"""What the integration tests call a limit that was held: a late machine changes nothing, a wrong limit does."""

import random
import sys

import pytest

from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness.steadiness import fitted_rate, furthest_ahead_s, worst_second  # noqa: E402

RATE, SECONDS = 1000, 10


def steady(rate=RATE, seconds=SECONDS):
    """That many a second, evenly."""
    return [int((number + 1) * rate / 100) - int(number * rate / 100) for number in range(100 * seconds)]


def stalled(at, length):
    """Nothing arrives in so many bins from `at` on, then at once all that waited. The test sees the middle of
    a longer run, and the moment may lie across its beginning or its end."""
    longer = steady(seconds=SECONDS + 2)
    first = 100 + at
    longer[first + length] += sum(longer[first:first + length])
    longer[first:first + length] = [0] * length
    return longer[100:-100]


def clock_seconds(bins):
    return [sum(bins[first:first + 100]) for first in range(0, len(bins), 100)]


@pytest.mark.parametrize("at", [-5, 0, 295, 500, 895, 995])
def test_a_machine_that_stands_still_for_a_tenth_of_a_second_changes_nothing(at):
    bins = stalled(at, 10)
    assert fitted_rate(bins) == pytest.approx(RATE, rel=0.002)
    assert worst_second(bins, RATE) < 1.02


@pytest.mark.parametrize("at", [150, 500, 850])
def test_a_machine_that_stands_still_for_longer_than_the_low_line_covers_changes_nothing(at):
    assert worst_second(stalled(at, 80), RATE) < 1.02


def test_one_that_stands_still_again_and_again_changes_nothing():
    bins = steady()
    for first in range(120, 900, 60):
        bins[first + 15] += sum(bins[first:first + 15])
        bins[first:first + 15] = [0] * 15
    assert worst_second(bins, RATE) < 1.02


def test_seconds_by_the_clock_show_such_a_machine():
    assert max(clock_seconds(stalled(295, 10))) == pytest.approx(1.05 * RATE, rel=0.01)
    assert max(clock_seconds(stalled(290, 10))) == pytest.approx(1.1 * RATE, rel=0.01)


@pytest.mark.parametrize("factor", [0.993, 1.007])
def test_a_rate_that_is_off_by_less_than_one_in_a_hundred_shows(factor):
    assert fitted_rate(steady(factor * RATE)) != pytest.approx(RATE, rel=0.005)


@pytest.mark.parametrize("at", [60, 100, 355, 500, 999])
@pytest.mark.parametrize("width", [1, 20, 90])
def test_a_second_with_six_in_a_hundred_too_many_shows_wherever_it_is(at, width):
    bins = steady()
    first = min(at, len(bins) - width)
    for number in range(60):
        bins[first + number * width // 60] += 1
    assert worst_second(bins, RATE) > 1.05


def test_noise_of_the_arrivals_is_no_excess():
    for seed in range(50):
        noise = random.Random(seed)
        level, bins = 0.0, []
        for _ in range(100 * SECONDS):  # a bucket whose level sways by some tens of requests
            bins.append(max(0, round(RATE / 100 - 0.05 * level + noise.gauss(0, 4))))
            level += bins[-1] - RATE / 100
        assert fitted_rate(bins) == pytest.approx(RATE, rel=0.005)
        assert worst_second(bins, RATE) < 1.08


def behind(bins, first, length, by):
    """A host that lets each request wait for so many bins more, from one bin on and for some length."""
    late = bins[:]
    late[first:first + by] = [0] * by
    late[first + length] += sum(bins[first:first + by])
    return late


@pytest.mark.parametrize("first", [0, 100, 250, 570])
@pytest.mark.parametrize("length", [30, 60, 250])
def test_a_host_that_is_behind_for_seconds_is_not_ahead_of_the_limit(first, length):
    bins = steady(seconds=6)
    late = behind(bins, first, min(length, len(bins) - first - 1), 29)
    assert sum(late) == sum(bins)
    assert max(late) >= 0.28 * RATE
    assert furthest_ahead_s(late, RATE) < 0.02


@pytest.mark.parametrize("first", [100, 250, 500])
@pytest.mark.parametrize("width", [1, 50, 100])
def test_three_tenths_of_a_second_too_many_show_wherever_they_are(first, width):
    bins = steady(seconds=6)
    for number in range(310):
        bins[min(first + number * width // 310, len(bins) - 1)] += 1
    assert furthest_ahead_s(bins, RATE) > 0.3
