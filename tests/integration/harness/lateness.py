"""Whether the machine was late, whatever the programs under test did: for bounds that a machine
breaks by itself when it stands still for some hundredths of a second."""

import threading
import time

EVERY_S = 0.005
ATTEMPTS = 3


class Lateness:
    """While entered, wakes up every few milliseconds; the longest that one came too late."""

    def __init__(self):
        self.longest_s = 0.0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        due = time.monotonic() + EVERY_S
        while not self.ending.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - due)
            due = now + EVERY_S

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def on_time(run, faults_of, late_s):
    """What `run(attempt)` gave, and its faults. One that has some while the machine was late by
    `late_s` or more has shown something else, and is repeated, three times at most in all."""
    for attempt in range(ATTEMPTS):
        with Lateness() as late:
            outcome = run(attempt)
        faults = faults_of(outcome)
        print(f"{faults or 'good'}; the machine was late by up to {late.longest_s * 1000:.0f} ms")
        if not faults or late.longest_s < late_s:
            break
    return outcome, faults
