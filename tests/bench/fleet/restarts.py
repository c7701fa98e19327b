"""Rows in which every member ends once and starts again: what their limits count must outlive that."""

import time

from fleet import Window
from harness.processes import wait_until
from harness.sidecar import quota
from rows import WITHOUT_A_CORE, Figure, Row

MEMBERS = 10
NAMES = 10_000
AMOUNT, PERIOD_S = 600, 3600  # of each name's limit
FILLED = 400  # of each name, by all members together, before any of them ends
# Afterwards, in requests of this weight: one that does not fit any more is no large part of a limit. It is nearly three
# times what is left, so that admitting too much shows.
WEIGHT, ENOUGH = 4, 600
RATE = 10_000  # requests a second of all members together
# Names are used in turn, so many together: ten members with all of them awake would need ten cores.
GROUP = 1_000
SETTLED_S = 5
MET_S = 10
LOW = AMOUNT  # of such a limit; what is lost with one killed member may be a quarter of it


def use(bench, fleet, rounds, weight, what, group=GROUP):
    """Every member uses every name so many times, one group of names after the other. Returns when each group was
    used. Nothing was used before by the processes that run now."""
    used = group * rounds
    rate = RATE / len(fleet.members)
    bench.say(f"{what}: {NAMES * rounds / rate:.0f} s")
    ends = []
    for first in range(0, NAMES, group):
        fleet.load(20 * used / rate, [{"prefix": "user/", "first": first, "names": group, "rate": rate, "most": used,
                                       "arrivals": "even", "weight": weight}])
        fleet.wait_used(20 * used / rate)
        ends.append(time.monotonic())
    return ends


def admitted(fleet, weight):
    """By the processes that run now, of a name in the mean."""
    return weight * sum(one.loads("admitted") for one in fleet.figures()) / NAMES


def met(fleet):
    """Waits until all members know each other; False if that takes too long, as a rolling restart would go on then."""
    try:
        wait_until(fleet.up, MET_S, "all know each other", every_s=0.2)
    except TimeoutError:
        return False
    return True


def restarted(bench, end, tolerance, group=GROUP):
    """Levels through the end and the new start of each member in turn. Names are used to two thirds of their limits,
    and in the end for more than is left: what one central bucket would admit in all is known."""
    rule = quota("user/{id}", f"{AMOUNT}r/h")
    with bench.fleet([rule], MEMBERS) as fleet:
        filled = use(bench, fleet, 1, FILLED / MEMBERS, "filled to two thirds", group)
        first = admitted(fleet, FILLED / MEMBERS)
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
        used = use(bench, fleet, ENOUGH // (WEIGHT * MEMBERS), WEIGHT, "used for more than is left", group)
        windows = [Window(list(of_member)) for of_member in zip(before, fleet.figures())]
        second = admitted(fleet, WEIGHT)
    drained_s = sum(used) / len(used) - sum(filled) / len(filled)
    central = AMOUNT * (1 + drained_s / PERIOD_S)
    return [Figure(f"restarts after which not all knew each other within {MET_S} s", [late], "", 0),
            Figure("admitted of a name, filled", [first], "", (FILLED, FILLED)),
            Figure("admitted of a name in all", [first + second]),
            Figure("one central bucket", [central]),
            Figure("admitted over one central bucket's", [(first + second) / central], "",
                   (1 - tolerance, 1 + tolerance)),
            Figure("sent while it was used again", [one.kilobytes("out") for one in windows], "KB/s", 1000),
            Figure(WITHOUT_A_CORE, [one.waited_percent() for one in windows], "% of the time")]


RESTARTS = [
    Row("restart-10", f"ten members, {NAMES:,} names of {AMOUNT}r/h, each ends with a goodbye and starts again",
        lambda bench: restarted(bench, lambda member: member.stop(), 0.02)),
    Row("kill-10", "the same, each is killed and starts again",
        lambda bench: restarted(bench, lambda member: member.kill(), LOW / 4 / AMOUNT)),
    Row("restart-10-at-once", "ended with a goodbye each, and then all names are used together",
        lambda bench: restarted(bench, lambda member: member.stop(), 0.02, NAMES)),
]
