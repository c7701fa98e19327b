"""How long this test's processes waited for a processor, as Linux counts it: the time that a thread was ready to run
and did not, and the time that the hypervisor kept a virtual processor from this machine. Neither grows because a
program is slow by itself."""

import os
from pathlib import Path

PROC = Path("/proc")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
STOLEN = 8  # of a line of /proc/stat, see proc_stat(5)
WAITED = 1  # of schedstat, in nanoseconds, see the kernel's Documentation/scheduler/sched-stats.rst


class ProcessorWaits:
    """Of the processes that this one started, and those that these started. Not thread-safe."""

    def __init__(self):
        self.threads = []
        self.waited = {}
        self.stolen = stolen_s()

    def find_threads(self):
        """Those that run now: to be called now and then, for it reads much."""
        self.threads = [thread for process in descendants(os.getpid()) for thread in tasks(process)]

    def longest_s(self):
        """The longest that one thread, or one virtual processor, waited since the last call."""
        before, self.waited = self.waited, {thread: waited_s(thread) for thread in self.threads}
        longest = max((now - before[thread] for thread, now in self.waited.items() if thread in before), default=0)
        stolen_before, self.stolen = self.stolen, stolen_s()
        return max([longest, *(now - then for then, now in zip(stolen_before, self.stolen))])


def tasks(process):
    try:
        return list((PROC / str(process) / "task").iterdir())
    except OSError:
        return []  # it has ended


def descendants(process):
    """The numbers of all processes below this one, without it."""
    found = []
    for thread in tasks(process):
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def waited_s(thread):
    try:
        return int((thread / "schedstat").read_text().split()[WAITED]) / 1e9
    except OSError:
        return 0.0


def stolen_s():
    """Of each virtual processor, since the machine started."""
    lines = (PROC / "stat").read_text().splitlines()
    return [int(line.split()[STOLEN]) * TICK_S for line in lines if line.startswith("cpu") and line[3].isdigit()]
