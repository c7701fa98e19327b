#!/usr/bin/env python3
"""Runs the full matrix and writes its table: matrix.py [--output FILE] [--only TEXT] [--jobs N]."""

import argparse
import datetime
import os
import shutil
import sys
import threading
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.lateness import repeated  # noqa: E402
from harness.matrix import LATE_S, STEADY_S, Outcome, full_matrix, run_case  # noqa: E402
from harness.paths import ROOT, RUNS  # noqa: E402
from harness.processes import bad_endings  # noqa: E402

HEAD = """# The integration matrix

This page is for everybody who wants to know how exactly a fleet of real processes holds its limits: it
lists the measured mean and the worst seconds of each case.

Real weir processes run on loopback under open-loop load. The origin counts admitted requests by its
own arrival times. There are two children of 1,000/s each under a parent of 3,000/s (then each child
is measured) or of 1,500/s (then the parent is measured). A case is measured for 30 s, from
t0 + high/(offered - rate) + 1 s on. The mean is the rate that fits best, the least second is one by the
clock, the worst one is the worst of all that begin with a bin of 10 ms, without what had waited for the
machine (decision 0119). All are admitted over the limit; at 0.95x over the offered load. With 7 sidecars the
quotas share their owners, and load arrives only at sidecars that own none of them.

Written by `tests/integration/matrix.py`; this table on {date}, {cores} cores,
{jobs} case(s) at once. A run that breaks its bounds on a machine that was late is repeated (0092);
`run` says which one is shown.

| sidecars | arrivals | load | spread | parent | measured | mean | least … worst second | refused | run | verdict |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def rows(outcome):
    case = outcome.case
    verdict = "; ".join(outcome.faults()) or "good"
    for one in outcome.series:
        yield (f"| {case.sidecars} | {case.arrivals} | {case.factor}x | {case.spread} | {case.parent} "
               f"| {one.name if one.name == 'parent' else 'child'} | {one.mean:.4f} "
               f"| {one.least:.3f} … {one.worst:.3f} | {outcome.refused_share:.3%} "
               f"| {outcome.attempt} | {verdict} |")


def run(case):
    folder = RUNS / f"matrix-{case.id}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def once(attempt):
        place = folder / str(attempt)
        place.mkdir()
        outcome = run_case(case, place, STEADY_S)
        outcome.attempt = attempt + 1
        return outcome, outcome.span_ns
    outcome, _, _ = repeated(once, Outcome.faults, LATE_S, lambda outcome: outcome.lag_s)
    outcome.trouble += bad_endings(folder)  # of any attempt: no late machine makes them
    if not outcome.faults():
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


class Progress:
    """The cases still to run and what came of the others. Thread-safe."""

    def __init__(self, cases):
        self.total = len(cases)
        # Cheap ones first: one job takes from this end and the others from the far one, so that
        # a dear case mostly runs beside a cheap one.
        self.waiting = sorted(cases, key=lambda case: case.factor)
        self.outcomes = {}
        self.bad = 0
        self.lock = threading.Lock()

    def take(self, cheap):
        with self.lock:
            return self.waiting.pop(0 if cheap else -1) if self.waiting else None

    def done(self, case, outcome):
        with self.lock:
            self.outcomes[case.id] = outcome
            self.bad += outcome is None or bool(outcome.faults())
            told = "broken" if outcome is None else f"{outcome.faults() or 'good'}; {outcome.load}"
            print(f"{len(self.outcomes)}/{self.total} {case.id}: {told}", flush=True)


def work(progress, cheap):
    while (case := progress.take(cheap)) is not None:
        outcome = None
        try:
            outcome = run(case)
        except Exception:  # one broken case must not cost the others' figures
            traceback.print_exc()
        progress.done(case, outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "integration-matrix.md")
    parser.add_argument("--only", default="", help="cases whose id holds this text; no table then")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once, a core or so each")
    options = parser.parse_args()
    cases = [case for case in full_matrix() if options.only in case.id]
    progress = Progress(cases)
    jobs = [threading.Thread(target=work, args=(progress, number == 0))
            for number in range(options.jobs)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    outcomes = [progress.outcomes[case.id] for case in cases]
    lines = [line for outcome in outcomes if outcome for line in rows(outcome)]
    print("\n".join(lines))
    if not options.only:
        head = HEAD.format(date=datetime.date.today(), cores=os.cpu_count(), jobs=options.jobs)
        options.output.write_text(head + "\n".join(lines) + "\n")
    print(f"{len(cases) - progress.bad} passed, {progress.bad} failed")
    return 1 if progress.bad else 0


if __name__ == "__main__":
    sys.exit(main())
