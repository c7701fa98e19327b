"""The rows of the fleet's bench: what load a row makes, what it measures, and the goal that stands beside it."""

import time
from dataclasses import dataclass

from fleet import Fleet
from harness.sidecar import quota

MEMBERS = 3
HOT = {"rate": 100, "names": 10, "offered": 3}  # the hot limits among many others
# How long hot limits are watched. Over 15 s what one central bucket admits of 100r/s at twice its limit differs by 0.5 %
# (a standard deviation), because its level at the begin and at the end does; of a hundred buckets the furthest by 1.2 %.
HELD_S = 60
LONG_AGO_S = 30
WITHOUT_A_CORE = "control thread without a core"
COUNTED = [  # as what a counter is shown, its name, the label that tells its rows apart, and further labels
    ("messages out", "weir_gossip_packets_total", "type", {"direction": "out"}),
    ("datagrams rejected", "weir_gossip_rejected_packets_total", "reason", {}),
    ("events", "weir_gossip_sync_events_total", "event", {}),
    ("events of the socket", "weir_gossip_driver_events_total", "event", {}),
]
ALWAYS_SHOWN = ("looks", "deltas_resent", "dropped_entries", "isolations")  # of these, without --details too
SELDOM = 0.05  # a second; what happens less often is not shown


@dataclass
class Figure:
    """One measured value of each member, or of the fleet; `goal` is the most that is allowed, or the least and the
    most."""
    what: str
    values: list
    unit: str = ""
    goal: object = None
    detail: bool = False  # shown with --details only

    def good(self):
        """None where there is no goal."""
        if self.goal is None:
            return None
        least, most = self.goal if isinstance(self.goal, tuple) else (float("-inf"), self.goal)
        return all(least <= value <= most for value in self.values)


@dataclass
class Row:
    name: str
    what: str
    run: callable


class Bench:
    """What a row is given: its options, a folder, a way to say what it does, a library if not the usual one."""

    def __init__(self, folder, options, say, library):
        self.folder, self.options, self.say, self.library = folder, options, say, library
        self.seconds = options.seconds
        self.fleets = 0

    def fleet(self, quotas, count=None, **more):
        self.fleets += 1
        made = Fleet(self.folder / f"fleet{self.fleets}", count or self.options.members, quotas,
                     self.library, most_memory=self.options.memory * 2**30, **more)
        try:
            made.wait_up()
            self.wait(3, "the members have met; rest")
        except BaseException:
            made.stop()
            raise
        return made

    def wait(self, seconds, what):
        self.say(f"{what}: {seconds:.0f} s")
        time.sleep(seconds)

    def windows(self, fleet, what, seconds=None, every_s=None):
        seconds = seconds or self.seconds
        self.say(f"{what}: window of {seconds:.0f} s")
        return fleet.windows(seconds, every_s)

    def use(self, fleet, names, rate, what, weight=1, **more):
        """Uses each name once, and waits for the end of that."""
        self.say(f"{what}: {names / rate:.0f} s")
        fleet.load(10 * names / rate, [{"prefix": "user/", "names": names, "rate": rate, "most": names,
                                        "arrivals": "even", "weight": weight}], **more)
        fleet.wait_used(10 * names / rate)

    def load(self, fleet, warm_up_s, streams, what, seconds=None, **more):
        """Begins a load that lasts from `warm_up_s` before a window until its end."""
        fleet.load(warm_up_s + (seconds or self.seconds) + 5, streams, **more)
        self.wait(warm_up_s, what)


def labelled(label, figures):
    """Figures of one of several windows of a row."""
    for figure in figures:
        figure.what = f"{label}: {figure.what}"
    return figures


def cost(windows, control=None, both=None, bytes_in=None):
    """What the control threads and the network had to do."""
    coming, going = ([one.kilobytes(way) for one in windows] for way in ("in", "out"))
    return [
        Figure("control thread", [one.control_percent() for one in windows], "% of a core", control),
        Figure(WITHOUT_A_CORE, [one.waited_percent() for one in windows], "% of the time"),
        Figure("gossip in and out", [a + b for a, b in zip(coming, going)], "KB/s", both),
        Figure("gossip in", coming, "KB/s", bytes_in),
        Figure("gossip out", going, "KB/s"),
    ]


def more_than(windows, before, control=0.3, both=0.5):
    """The same, less what the fleet cost before: of names that must cost nothing."""
    figures, base = ([cost(of)[0], cost(of)[2]] for of in (windows, before))
    for figure, was, goal in zip(figures, base, (control, both)):
        figure.what += ", more than before"
        figure.values = [now - then for now, then in zip(figure.values, was.values)]
        figure.goal = goal
    return figures


def work(windows, isolations=0):
    """What was counted of it: messages and events that a build counts, so that a new kind is shown as well."""
    figures = [Figure("datagrams out", [one.rate("weir_gossip_datagrams_total", direction="out")
                                        for one in windows], "/s"),
               Figure("datagrams in", [one.rate("weir_gossip_datagrams_total", direction="in")
                                       for one in windows], "/s", detail=True),
               Figure("datagrams lost at the socket", [one.lost() / one.page_seconds for one in windows], "/s")]
    for shown, name, label_name, others in COUNTED:
        for value in windows[0].last.labels(name, label_name, **others):
            rates = [one.rate(name, **{label_name: value}, **others) for one in windows]
            goal = isolations if value == "isolations" else None
            if max(rates) >= SELDOM or goal is not None:
                figures.append(Figure(f"{shown}: {value}", rates, "/s", goal, value not in ALWAYS_SHOWN))
    return figures


def state(windows, staleness=None):
    """What the members keep, at the end of the window."""
    last = [one.last for one in windows]
    peers = len(windows) - 1
    return [
        Figure("live peers", [one.live_peers for one in last], "", (peers, peers)),
        Figure("staleness", [one.staleness_s() for one in windows], "s", staleness),
        Figure("limits awake, reported", [one.metric("weir_gossip_awake_limits", side="reported") for one in last]),
        Figure("limits awake, owned", [one.metric("weir_gossip_awake_limits", side="owned") for one in last]),
        Figure("limits that are known", [one.metric("weir_gossip_synced_limits")
                                         + one.metric("weir_gossip_owned_limits") for one in last]),
        Figure("memory", [one.memory / 2**20 for one in last], "MiB"),
    ]


def load_figures(windows, prefix=""):
    """That the load was what it was meant to be; the rest of the row says nothing if it was late."""
    return [Figure("requests", [sum(one.loads(key, prefix) for key in ("admitted", "refused", "isolated"))
                                / one.load_seconds for one in windows], "/s"),
            Figure("requests without a decision", [one.loads("failed", prefix) for one in windows], "", 0),
            Figure("requests skipped", [one.loads("skipped", prefix) for one in windows], "", 0),
            Figure("load late by at most", [one.last.latest_ms() for one in windows], "ms"),
            Figure("load threads", [one.load_percent() for one in windows], "% of a core")]


def refused(windows, prefix, goal=0):
    """Of names far below their limits nothing may be."""
    return Figure(f"refused of {prefix}", [one.loads("refused", prefix) + one.loads("isolated", prefix)
                                           for one in windows], "", goal)


def held(windows, prefix, rate, goal):
    """The rate at which each of the hot limits admitted, over its own."""
    by_name = [sum(row) / rate for row in zip(*(one.by_name(prefix) for one in windows))]
    return [Figure("hot limits: mean admitted over the limit", [sum(by_name) / len(by_name)], "", goal),
            Figure("hot limits: least and most", [min(by_name), max(by_name)], "", goal)]


def users(rate="10r/s", **more):
    return quota("user/{id}", rate, **more)


def hot(rate):
    return quota("hot/{id}", f"{rate}r/s")


def many_names(bench, names, warm_up_s, control, both, with_hot=False):
    """So many names at 1/s each in the fleet, a tenth of their limits."""
    with bench.fleet([users(), hot(HOT["rate"])]) as fleet:
        share = 1 / len(fleet.members)
        streams = [{"prefix": "user/", "names": names, "rate": names * share}]
        if with_hot:
            streams.append({"prefix": "hot/", "names": HOT["names"],
                            "rate": HOT["names"] * HOT["rate"] * HOT["offered"] * share})
        seconds = max(bench.seconds, HELD_S) if with_hot else bench.seconds
        bench.load(fleet, warm_up_s, streams, f"{names} names at 1/s", seconds)
        windows = bench.windows(fleet, "under load", seconds, every_s=1)
    figures = [*cost(windows, control=control, both=both), *work(windows), *state(windows, staleness=1),
               refused(windows, "user/"), *load_figures(windows)]
    if with_hot:
        figures += held(windows, "hot/", HOT["rate"], (0.99, 1.01))
    return figures


def once(bench):
    """20,000 names once at each member, then nothing."""
    with bench.fleet([users()]) as fleet:
        before = bench.windows(fleet, "nothing yet")
        names, seconds = 20_000, 2
        bench.use(fleet, names, names / seconds, f"{names} names once at each member")
        bench.wait(2, "rest")
        ended = time.monotonic()
        soon = bench.windows(fleet, "2 s after", seconds=min(bench.seconds, 10))
        rest = LONG_AGO_S - (time.monotonic() - ended)
        if rest > 0:
            bench.wait(rest, f"rest until {LONG_AGO_S} s after")
        late = bench.windows(fleet, f"{LONG_AGO_S} s after")
    return [*labelled("before", cost(before)),
            *labelled("2 s after", [*more_than(soon, before), *cost(soon), *work(soon)]),
            *labelled(f"{LONG_AGO_S} s after", [*more_than(late, before), *cost(late), *work(late)]), *state(late)]


def resting(bench, rate, weight):
    """10,000 hour limits at two thirds of their limits, without traffic, against the same fleet without them."""
    with bench.fleet([users(rate)]) as fleet:
        before = bench.windows(fleet, "nothing yet")
        names, seconds = 10_000, 5
        bench.use(fleet, names, names / seconds, f"{names} names of {rate} to two thirds of their limits",
                  weight=weight)
        bench.wait(5, "rest")
        windows = bench.windows(fleet, "at rest")
        awake = state(windows)
        loads = [one.last for one in windows]
    return [*labelled("before", cost(before)),
            *labelled("at rest", [*more_than(windows, before), *cost(windows), *work(windows)]), *awake,
            Figure("admitted", [one.loads("admitted") for one in loads]),
            Figure("refused", [one.loads("refused") for one in loads])]


def hundred_hot(bench):
    """100 hot quotas over three members, at twice their limits."""
    rate, names = 100, 100
    with bench.fleet([hot(rate)]) as fleet:
        seconds = max(bench.seconds, HELD_S)
        bench.load(fleet, 5, [{"prefix": "hot/", "names": names, "rate": 2 * rate * names / len(fleet.members)}],
                   f"{names} hot quotas", seconds)
        windows = bench.windows(fleet, "under load", seconds, every_s=1)
    return [*cost(windows, both=48), *work(windows), *state(windows, staleness=1),
            *held(windows, "hot/", rate, (0.99, 1.01)), *load_figures(windows)]


def one_quota(bench):
    """One quota of 1,000/s at low and high request rates."""
    figures = []
    for offered in (500, 3000, 60_000):
        with bench.fleet([hot(1000)]) as fleet:
            bench.load(fleet, 5, [{"prefix": "hot/", "rate": offered / len(fleet.members)}], f"{offered} a second")
            windows = bench.windows(fleet, "under load")
        of_rate = [*cost(windows, bytes_in=2), *work(windows), *state(windows), *load_figures(windows)]
        if offered > 1000:
            of_rate += held(windows, "hot/", 1000, (0.99, 1.01))[:1]
        figures += labelled(f"{offered} requests a second", of_rate)
    return figures


def isolation(bench):
    """Limits that are used now and then in a healthy fleet, where nobody is silent and so nothing is isolated: 3,000
    `pessimistic` ones, and as many whose `safe` rate is far below what they are offered."""
    names, intervals_s = 1000, (0.2, 2, 12)
    kinds = {"pessimistic": quota("pessimistic/{id}", "100r/s", when_isolated="pessimistic"),
             "safe": quota("safe/{id}", {"rate": "100r/s", "safe": "1r/m"})}
    with bench.fleet(list(kinds.values())) as fleet:
        # Names of one interval each; the numbers keep them apart.
        streams = [{"prefix": f"{kind}/", "first": number * names, "names": names, "rate": names / interval}
                   for kind in kinds for number, interval in enumerate(intervals_s)]
        seconds = max(bench.seconds, 30)
        fleet.load(seconds + 2, streams)
        windows = bench.windows(fleet, f"every {', '.join(map(str, intervals_s))} s", seconds, every_s=2)
    return [*(Figure(f"{kind}: {what}", [one.loads(key, kind) for one in windows], "", 0)
              for kind in kinds for what, key in (("answered as isolated", "isolated"), ("refused", "refused"))),
            *cost(windows), *work(windows), *state(windows), *load_figures(windows)]


def million(bench):
    """A million names live in one of the members, against a process without a cluster."""
    names, rate, limit = 1_000_000, 50_000, "24r/d"
    measured = {}
    for clustered in (False, True):
        with bench.fleet([users(limit)], None if clustered else 1, clustered=clustered,
                         limiter={"max_instances": 1_200_000}) as fleet:
            bench.use(fleet, names, rate, f"{names} names once at one member", only=0)
            # By then the gauges have seen all instances, and what is hardly filled is forgotten.
            bench.wait(60, "rest")
            measured[clustered] = bench.windows(fleet, "at rest")
    alone, inside = measured[False][0].last, measured[True][0].last
    live = [one.metric("weir_limiter_instances") for one in (alone, inside)]
    return [Figure("names live, without a cluster and with one", live),
            Figure("memory without a cluster", [alone.memory / 2**20], "MiB"),
            Figure("memory in a cluster", [inside.memory / 2**20], "MiB"),
            Figure("memory in a cluster over that without", [inside.memory / alone.memory], "", 1.25),
            Figure("memory in a cluster less that without", [(inside.memory - alone.memory) / 2**20], "MiB", 128),
            Figure("quiet limits", [inside.metric("weir_gossip_quiet_limits")]),
            Figure("memory of the limiter in a cluster", [inside.metric("weir_limiter_memory_bytes") / 2**20], "MiB"),
            *labelled("without a cluster", cost(measured[False])),
            *labelled("idle in a cluster", cost(measured[True][:1], control=1)),
            *labelled("its owners", cost(measured[True][1:])), *state(measured[True]), *work(measured[True])]


ROWS = [
    Row("10000-names", "10,000 names at 1/s in the fleet, limits of 10r/s",
        lambda bench: many_names(bench, 10_000, 6, control=3, both=30)),
    Row("60000-names", "60,000 names at 1/s in the fleet, ten hot limits among them",
        lambda bench: many_names(bench, 60_000, 8, control=10, both=150, with_hot=True)),
    Row("20000-once", "20,000 names once at each member, then nothing", once),
    Row("rest-12r/h", "10,000 limits of 12r/h at two thirds, at rest", lambda bench: resting(bench, "12r/h", 8 / 3)),
    Row("rest-600r/h", "10,000 limits of 600r/h at two thirds, at rest",
        lambda bench: resting(bench, "600r/h", 400 / 3)),
    Row("100-hot", "100 hot quotas of 100r/s at twice their limits", hundred_hot),
    Row("one-quota", "one quota of 1000r/s, at three request rates", one_quota),
    Row("isolation", "3,000 pessimistic limits and 3,000 safe ones, used every 0.2 to 12 s", isolation),
    Row("million", "a million names live in one member", million),
]
