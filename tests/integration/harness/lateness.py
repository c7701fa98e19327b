"""Whether the machine was late, whatever the programs under test did: for bounds that a machine
breaks by itself when it stands still for some hundredths of a second."""

import threading
import time

import pytest

EVERY_S = 0.005
ATTEMPTS = 3


class Lateness:
    """While entered, wakes up every few milliseconds and notes how late that was."""

    def __init__(self):
        self.wakes = []  # (due, when it came), in seconds
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        due = time.monotonic() + EVERY_S
        while not self.ending.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self.wakes.append((due, now))
            due = now + EVERY_S

    def longest_s(self, span_ns):
        """Of what lies, if only in part, between a load's start and its end."""
        begin, end = (at / 1e9 for at in span_ns)
        return max((came - due for due, came in self.wakes if due < end and came > begin), default=0)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def on_time(run, faults_of, late_s, lag_s=lambda outcome: 0):
    """An outcome and its faults; `run(attempt)` gives it and its load's span. One that has some where
    the machine was late by `late_s` or more while the load ran (a fleet's start does not count) has
    shown something else, and is repeated, three times at most in all. If the machine was late each time, nothing
    can be said here, and the test is skipped with what was seen; the simulator judges the same in virtual time.
    Late is what this process sees of it, or `lag_s(outcome)`, by how much requests were sent or answered after
    their time."""
    for attempt in range(ATTEMPTS):
        with Lateness() as late:
            outcome, span_ns = run(attempt)
        faults = faults_of(outcome)
        longest_s = max(late.longest_s(span_ns), lag_s(outcome))
        print(f"{faults or 'good'}; the machine was late by up to {longest_s * 1000:.0f} ms")
        if not faults or longest_s < late_s:
            return outcome, faults
    pytest.skip(f"not judged: the machine was late by {longest_s * 1000:.0f} ms, and the last run had {faults}")
