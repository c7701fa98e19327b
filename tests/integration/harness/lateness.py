"""Whether the machine was late, whatever the programs under test did: for bounds that a machine
breaks by itself when it stands still for some hundredths of a second."""

import threading
import time

import pytest

from .processor_waits import ProcessorWaits

EVERY_S = 0.005
LOOK_EVERY_S = 0.05  # how often it asks how long processes waited for a processor
FIND_EVERY_S = 0.5  # and which threads there are
ATTEMPTS = 3


class Lateness:
    """While entered, wakes up every few milliseconds and notes how late that was, and how long the processes that
    this one started waited for a processor."""

    def __init__(self):
        self.late = []  # (from, until, for how many seconds of it), in seconds
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        waits = ProcessorWaits()
        looked = found = time.monotonic()
        due = looked + EVERY_S
        while not self.ending.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self.late.append((due, now, now - due))
            if now - looked >= LOOK_EVERY_S:
                self.late.append((looked, now, waits.longest_s()))
                looked = now
            if now - found >= FIND_EVERY_S:
                waits.find_threads()
                found = now
            due = time.monotonic() + EVERY_S

    def longest_s(self, span_ns):
        """Of what lies, if only in part, between a load's start and its end."""
        begin, end = (at / 1e9 for at in span_ns)
        return max((late for since, until, late in self.late if since < end and until > begin), default=0)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def repeated(run, faults_of, late_s, lag_s=lambda outcome: 0):
    """An outcome, its faults, and by how many seconds the machine was late meanwhile; `run(attempt)` gives the
    outcome and its load's span. One that has faults where the machine was late by `late_s` or more while the load
    ran (a fleet's start does not count) has shown something else, and is repeated, three times at most in all. Late
    is what Lateness sees of it, or `lag_s(outcome)`, by how much requests were sent or answered after their time."""
    for attempt in range(ATTEMPTS):
        with Lateness() as late:
            outcome, span_ns = run(attempt)
        faults = faults_of(outcome)
        machine_s = late.longest_s(span_ns)
        longest_s = max(machine_s, lag_s(outcome))
        print(f"{faults or 'good'}; the machine was late by up to {machine_s * 1000:.0f} ms, "
              f"the load by {lag_s(outcome) * 1000:.0f} ms")
        if not faults or longest_s < late_s:
            break
    return outcome, faults, machine_s


def on_time(run, faults_of, late_s, lag_s=lambda outcome: 0):
    """For tests: the outcome and its faults. If the machine was late in the last run as well, nothing can be said,
    and the test is skipped with what was seen. Answers that came late do not excuse that: they may be weir's own."""
    outcome, faults, machine_s = repeated(run, faults_of, late_s, lag_s)
    if faults and machine_s >= late_s:
        pytest.skip(f"not judged: the machine was late by {machine_s * 1000:.0f} ms, and the last run had {faults}")
    return outcome, faults
