"""Whether a fleet held a limit, from what arrived at the origin in bins of 10 ms, so that a machine which
stands still for a moment changes nothing.

What a limit has admitted since some instant is its rate times the time, give or take what its bucket's level
has moved. A machine that stands still lets the running count fall behind that line, and what waited meanwhile
brings it back to the line, not above it: the bucket has drained in between. So the rate is the slope of the
straight line that fits the running count best, on which such a moment hardly weighs wherever it lies. And of
a second that begins in such a moment, only that counts by which the running count rises above where it had
been before: by the clock, all that had waited would be in it.
"""

import itertools
import statistics

BINS_A_SECOND = 100
# A machine may stand still for so much of the time.
STILL = 0.05


def fitted_rate(bins):
    """A second, by least squares of the running count over time."""
    counts = list(itertools.accumulate(bins))
    return statistics.linear_regression(range(len(counts)), counts).slope * BINS_A_SECOND


def distances(bins, rate):
    """How far the running count is ahead of what the rate would give, at each bin."""
    return [count - rate * number / BINS_A_SECOND for number, count in enumerate(itertools.accumulate(bins))]


def worst_second(bins, rate):
    """The most that came in any second, of all that begin with a bin, over the rate. A second is counted from
    the highest point on that the running count, measured against the rate's line, had reached before it: what
    is below may have waited. Where the run begins in a moment in which the machine stands still, there is no
    such point, and the low line that it stood above in nearly all of the time takes its place."""
    off = distances(bins, rate)
    low = sorted(off)[int(STILL * len(off))]
    highest = itertools.accumulate(off, max, initial=low)
    next(highest)  # the low line itself
    return 1 + max(after - before for before, after in zip(highest, off[BINS_A_SECOND:])) / rate


def furthest_ahead_s(bins, rate):
    """By how many seconds of the rate the running count rises above the highest point, measured against the
    rate's line, of its first second. What waited behind a host that stood still comes back to that point and
    not above it, however long it waited."""
    off = distances(bins, rate)
    return (max(off) - max(0, *off[:BINS_A_SECOND])) / rate
