"""Latencies with and without a fault, in turn, in one run of the same processes."""

import contextlib
import statistics
import time

from harness.load import SECOND, Load, phases, plan

RATE = 900
WARM_UP_S, PHASE_S, SEAM_S = 2, 2, 0.6
# Each pair has the other order, so that a trend of the machine cancels.
KINDS = ["whole", "faulty", "faulty", "whole"] * 3
PAIRS = len(KINDS) // 2
# Slower is what adds the millisecond that may not be added in most of the pairs, however slow a machine
# is without it: two milliseconds more do so in all of them on a quiet one. What a busy machine adds, it
# adds as often to the one kind as to the other. If these look slower, as many pairs again join them, up
# to three times: what is slower stays so.
FIGURES = ("p50_ms", "p99_ms")
ADDED_MS = 1.0
MOST = 0.75
AGAIN = 3
STREAMS = [f"{kind}{pair}" for kind in ("whole", "faulty") for pair in range(PAIRS)]


def begins_at(number):
    return WARM_UP_S + number * (PHASE_S + SEAM_S)


def steps():
    """Each phase has a name of its own; faults come and go in the seams."""
    found = [("seam", 0)]
    for number, kind in enumerate(KINDS):
        found += [(f"{kind}{number // 2}", begins_at(number)), ("seam", begins_at(number) + PHASE_S)]
    return found


def sleep_until(load, at_s):
    time.sleep(max(0.0, load.start_ns / SECOND + at_s - time.monotonic()))


def play(load, fault, sample=lambda: 0):
    """Returns how far `sample` grew in the phases of each kind; it is asked in the seams. `fault`
    makes a context manager."""
    grown = {"whole": 0, "faulty": 0}
    for number, kind in enumerate(KINDS):
        sleep_until(load, begins_at(number) - SEAM_S)
        with fault() if kind == "faulty" else contextlib.nullcontext():
            sleep_until(load, begins_at(number) - SEAM_S / 2)
            before = sample()
            sleep_until(load, begins_at(number) + PHASE_S)
            grown[kind] += sample() - before
    return grown


def measure(fleet, folder, seed, fault, sample=lambda: 0, paths=None):
    """(the load's result, what grew); every request was answered well. `paths`: as phases() takes
    them, for a fault that some requests meet and others do not."""
    load = Load(folder, plan(fleet.targets(), phases("/bucket/object", RATE, steps(), paths=paths),
                             begins_at(len(KINDS)), seed=seed), f"load-{seed}")
    grown = play(load, fault, sample)
    result = load.wait()
    print(result.describe(), grown)
    assert result.total("ok") == result.total("offered")
    return result, grown


def paired(result, what, targets):
    """[(without the fault, with it)] for each pair of phases and each sidecar."""
    return [(without, with_it) for pair in range(PAIRS)
            for without, with_it in zip(result.per_target(what, f"whole{pair}", targets),
                                        result.per_target(what, f"faulty{pair}", targets))]


def slower(results, what, targets):
    """Whether most of the pairs of all results are, by more than a millisecond."""
    pairs = [pair for result in results for pair in paired(result, what, targets)]
    added = [with_it - without for without, with_it in pairs]
    share = sum(one > ADDED_MS for one in added) / len(added)
    print(f"{what}: {pairs}, added {statistics.median(added):.3f} ms in the median, "
          f"more than {ADDED_MS} in {share:.0%} of the pairs")
    return share > MOST


def assert_none_slower(fleet, first, again):
    """`first`: a result; `again` measures once more, for a machine that does much else."""
    targets = list(fleet.targets())
    results = [first]
    while len(results) <= AGAIN and any(slower(results, what, targets) for what in FIGURES):
        results.append(again())
    assert not [what for what in FIGURES if slower(results, what, targets)]
