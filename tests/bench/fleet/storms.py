"""Rows in which something is lost, late or too much: what members send meanwhile, and how soon all is normal again.

The fleet is watched second by second. It is normal again at the end of the first of three seconds in a row in which
every member sends and works about as much as before, knows the others, and isolates nothing."""

import contextlib
import itertools
import time

from fleet import Window
from harness.network import run_nft
from rows import HOT, WITHOUT_A_CORE, Figure, Row, hot, users

BURST = 100_000  # names in a second at each member
BUDGET_KB = 1000  # a second, that a member may send
NORMAL_WITHIN_S = 5
PATIENCE_S = 30
IN_A_ROW = 3
DISTURBED_S = 10


class Loss:
    """While entered, this share of the datagrams to these ports is lost on its way: senders see no error."""

    def __init__(self, percent, ports):
        self.percent, self.ports = percent, ", ".join(map(str, ports))
        self.table = f"inet weir_fleet_bench_{ports[0]}"

    def __enter__(self):
        run_nft(f"""table {self.table} {{
            chain in {{
                type filter hook input priority 0; policy accept;
                udp dport {{ {self.ports} }} numgen random mod 100 < {self.percent} drop
            }}
        }}""")

    def __exit__(self, *_):
        run_nft(f"delete table {self.table}")


class Stopped:
    """While entered, a member stands still."""

    def __init__(self, member):
        self.member = member

    def __enter__(self):
        self.member.pause()

    def __exit__(self, *_):
        self.member.resume()


class Watch:
    """A Window of each member for each second; none of one that stood still."""

    def __init__(self, fleet, say):
        self.fleet, self.say = fleet, say
        self.answers = fleet.figures()
        self.seconds = []  # (when it ended, windows)

    def second(self, without=()):
        time.sleep(1)
        before, self.answers = self.answers, self.fleet.figures(without)
        self.seconds.append((time.monotonic(), [Window([old, new]) if old and new else None
                                                for old, new in zip(before, self.answers)]))

    def lasting(self, seconds, without=()):
        """Watches for so long; the windows of these seconds."""
        begin, first = time.monotonic(), len(self.seconds)
        while time.monotonic() < begin + seconds:
            self.second(without)
        return [windows for _, windows in self.seconds[first:]]

    def until_normal(self, usual):
        """How long it took, or None when it was not within PATIENCE_S."""
        begin, good = time.monotonic(), 0
        while good < IN_A_ROW:
            if time.monotonic() > begin + PATIENCE_S + IN_A_ROW:
                return None
            self.second()
            ended, windows = self.seconds[-1]
            good = good + 1 if usual.like(windows) else 0
            if good == 1:
                found = ended - begin
        return found


class Usual:
    """What the members did before."""

    def __init__(self, seconds, peers):
        windows = [one for of_second in seconds for one in of_second]
        self.peers = peers
        self.sent = max(one.kilobytes("out") for one in windows)
        self.control = max(one.control_percent() for one in windows)
        self.staleness = max(one.staleness_s() for one in windows)

    def like(self, windows):
        return all(one is not None and one.last.live_peers == self.peers
                   and one.kilobytes("out") <= 1.5 * self.sent + 10
                   and one.control_percent() <= 1.5 * self.control + 5
                   and one.staleness_s() <= max(1, self.staleness)
                   and one.last.metric("weir_gossip_isolated_limits") == 0 for one in windows)


def burst(fleet, others, without):
    """100,000 names within a second at each member but these; `others`: other names at each."""
    for number, member in enumerate(fleet.members):
        if member in without:
            continue
        fleet.load(2, [{"prefix": "user/", "first": BURST * number if others else 0, "names": BURST, "rate": BURST,
                        "most": BURST, "arrivals": "even"}], only=number)


def hot_load(fleet, seconds):
    rate = HOT["names"] * HOT["rate"] * HOT["offered"] / len(fleet.members)
    fleet.load(seconds, [{"prefix": "hot/", "names": HOT["names"], "rate": rate}])


def told(watch, first, normal_s):
    """The figures of what came after the first seconds, which were usual."""
    seconds = [[one for one in windows if one] for _, windows in watch.seconds]
    usual, later = (list(itertools.chain(*part)) for part in (seconds[:first], seconds[first:]))

    def most(value, windows):
        return max(map(value, windows))

    def rate_of(name, **labels):
        return lambda one: one.rate(name, **labels)

    def event(name):
        return rate_of("weir_gossip_sync_events_total", event=name)

    last = [one for one in watch.answers if one]
    return [
        Figure("sent in a second before, at most", [most(lambda one: one.kilobytes("out"), usual)], "KB/s"),
        Figure("sent in a second, at most", [most(lambda one: one.kilobytes("out"), later)], "KB/s", BUDGET_KB),
        Figure("received in a second, at most", [most(lambda one: one.kilobytes("in"), later)], "KB/s"),
        Figure("datagrams sent in a second, at most",
               [most(rate_of("weir_gossip_datagrams_total", direction="out"), later)], "/s"),
        Figure("control thread in a second, at most", [most(Window.control_percent, later)], "% of a core"),
        Figure(WITHOUT_A_CORE + ", at most", [most(Window.waited_percent, later)], "% of the time"),
        Figure("entries sent again in a second, at most", [most(event("deltas_resent"), later)], "/s"),
        Figure("datagrams lost at the socket", [sum(one.lost() for one in later)]),
        Figure("isolations", [sum(one.grown("weir_gossip_sync_events_total", event="isolations")
                                  for one in later)]),
        Figure("staleness, at most", [most(Window.staleness_s, later)], "s"),
        Figure("refused of user/", [one.loads("refused", "user/") + one.loads("isolated", "user/")
                                    for one in last], "", 0),
        Figure("memory at the end", [one.memory / 2**20 for one in last], "MiB"),
        Figure(f"normal again ({PATIENCE_S:.0f} if it was not by then)",
               [PATIENCE_S if normal_s is None else normal_s], "s", NORMAL_WITHIN_S),
    ]


def storm(bench, many=0, others=False, disturbed=None):
    """A burst in a fleet with ten hot limits and `many` names at 1/s, perhaps in ten seconds that are `disturbed`: a
    function that makes a context of the fleet, and names the members that stand still in it."""
    with bench.fleet([users(), hot(HOT["rate"])]) as fleet:
        seconds = 10 + DISTURBED_S + 2 * PATIENCE_S + 20
        hot_load(fleet, seconds)
        if many:
            fleet.load(seconds, [{"prefix": "user/live-", "names": many, "rate": many / len(fleet.members)}])
        bench.wait(8, "usual load")
        watch = Watch(fleet, bench.say)
        usual = Usual(watch.lasting(5), fleet.peers)
        first = len(watch.seconds)
        context, without = disturbed(fleet) if disturbed else (contextlib.nullcontext(), ())
        bench.say("disturbed")
        with context:
            burst(fleet, others, without)
            watch.lasting(DISTURBED_S if disturbed else 1, without)
        bench.say(f"until all is normal again, at most {PATIENCE_S} s")
        normal_s = watch.until_normal(usual)
        return told(watch, first, normal_s)


def fresh(bench):
    """Ten members that use 10,000 new names a second in all."""
    with bench.fleet([users(), hot(HOT["rate"])], 10) as fleet:
        hot_load(fleet, 100)
        bench.wait(8, "usual load")
        watch = Watch(fleet, bench.say)
        usual = Usual(watch.lasting(5), fleet.peers)
        first = len(watch.seconds)
        bench.say("10,000 new names a second")
        each = 10_000 // len(fleet.members)
        for number in range(len(fleet.members)):
            names = each * DISTURBED_S
            fleet.load(2 * DISTURBED_S, [{"prefix": "user/", "first": number * names, "names": names, "rate": each,
                                          "most": names, "arrivals": "even"}], only=number)
        watch.lasting(DISTURBED_S)
        bench.say(f"until all is normal again, at most {PATIENCE_S} s")
        return told(watch, first, watch.until_normal(usual))


def stopped(fleet):
    return Stopped(fleet.members[-1]), [fleet.members[-1]]


def lossy(fleet):
    return Loss(30, fleet.ports), ()


STORMS = [
    Row("storm-same", f"{BURST:,} names in a second at each member, the same at all", storm),
    Row("storm-others", f"{BURST:,} names in a second at each member, others at each",
        lambda bench: storm(bench, others=True)),
    Row("storm-ten", "ten members that use 10,000 new names a second in all, for 10 s", fresh),
    Row("storm-stopped", "the same, while an owner stands still for 10 s, beside 10,000 names at 1/s",
        lambda bench: storm(bench, many=10_000, disturbed=stopped)),
    Row("storm-loss", "the same, while 30 % of all datagrams are lost for 10 s, beside 10,000 names at 1/s",
        lambda bench: storm(bench, many=10_000, disturbed=lossy)),
]
