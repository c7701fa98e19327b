"""Rows in which every member ends once and starts again: what their limits count must outlive that."""

import time

from fleet import Window
from harness.processes import wait_until
from harness.sidecar import quota
from rows import Figure, Row

MEMBERS = 10
NAMES = 10_000
AMOUNT, PERIOD_S = 600, 3600  # of each name's limit
FILLED = 400  # of each name, by all members together, before any of them ends
# Afterwards, in requests of this weight: one that does not fit any more is no large part of a limit. It is nearly three
# times what is left, so that admitting too much shows.
WEIGHT, ENOUGH = 4, 600
RATE = 60_000  # requests a second of all members together
SETTLED_S = 5
MET_S = 10
LOW = AMOUNT  # of such a limit; what is lost with one killed member may be a quarter of it


def use(bench, fleet, rounds, weight, what):
    """Every member uses every name so many times; what was admitted, over all names. Nothing was used before by the
    processes that run now."""
    used = NAMES * rounds
    rate = RATE / len(fleet.members)
    bench.say(f"{what}: {used / rate:.0f} s")
    fleet.load(20 * used / rate, [{"prefix": "user/", "names": NAMES, "rate": rate, "most": used, "arrivals": "even",
                                   "weight": weight}])
    fleet.wait_used(20 * used / rate)
    return weight * sum(one.loads("admitted") for one in fleet.figures())


def met(fleet):
    """Waits until all members know each other; False if that takes too long, as a rolling restart would go on then."""
    try:
        wait_until(fleet.up, MET_S, "all know each other", every_s=0.2)
    except TimeoutError:
        return False
    return True


def restarted(bench, end, tolerance):
    """Levels through the end and the new start of each member in turn. Names are used to two thirds of their limits,
    and in the end for more than is left: what one central bucket would admit in all is known."""
    rule = quota("user/{id}", f"{AMOUNT}r/h")
    with bench.fleet([rule], MEMBERS) as fleet:
        begun = time.monotonic()
        first = use(bench, fleet, 1, FILLED / MEMBERS, "filled to two thirds")
        bench.wait(SETTLED_S, "rest")
        late = 0
        for member in fleet.members:
            bench.say(f"{member.name} ends and starts again")
            end(member)
            member.start()
            late += not met(fleet)
            time.sleep(2)
        bench.wait(SETTLED_S, "rest")
        before = fleet.figures()
        second = use(bench, fleet, ENOUGH // (WEIGHT * MEMBERS), WEIGHT, "used for more than is left")
        windows = [Window(list(of_member)) for of_member in zip(before, fleet.figures())]
        central = AMOUNT * (1 + (time.monotonic() - begun) / PERIOD_S)
    admitted = (first + second) / NAMES
    return [Figure(f"restarts after which not all knew each other within {MET_S} s", [late], "", 0),
            Figure("admitted of a name, filled", [first / NAMES], "", (FILLED, FILLED)),
            Figure("admitted of a name in all", [admitted]),
            Figure("one central bucket", [central]),
            Figure("admitted over one central bucket's", [admitted / central], "", (1 - tolerance, 1 + tolerance)),
            Figure("sent while it was used again", [one.kilobytes("out") for one in windows], "KB/s", 1000),
            Figure("control thread without a core", [one.waited_percent() for one in windows], "% of the time")]


RESTARTS = [
    Row("restart-10", f"ten members, {NAMES:,} names of {AMOUNT}r/h, each ends with a goodbye and starts again",
        lambda bench: restarted(bench, lambda member: member.stop(), 0.02)),
    Row("kill-10", "the same, each is killed and starts again",
        lambda bench: restarted(bench, lambda member: member.kill(), LOW / 4 / AMOUNT)),
]
