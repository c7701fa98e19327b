"""The matrix: two children of 1,000/s under a parent of 3,000/s (each child is measured) or of
1,500/s (the parent is), over fleet size, arrivals, load and spread."""

import math
from dataclasses import dataclass
from itertools import product

from . import http
from .counters import disagreements
from .load import SECOND, Load, plan, stream
from .origin import Origin
from .processes import wait_until
from .sidecar import Fleet, names, quota
from .steadiness import fitted_rate, worst_second

CHILD_RATE = 1000
# Of each case. In CI, where real processes run some of the cases, a third of that: what takes half a
# minute of every case to see is seen in virtual time, by tests/sim/matrix_test.cpp.
STEADY_S, CI_STEADY_S = 30, 10
# A second may be 5 % above the limit: so much comes in a twentieth of one.
LATE_S = 0.03
SPREADS = {"even": None, "80/10/10": [80, 10, 10]}


@dataclass(frozen=True)
class Case:
    sidecars: int
    arrivals: str
    factor: float
    spread: str
    parent: int

    @property
    def id(self):
        return f"{self.sidecars}-{self.arrivals}-{self.factor}x-{self.spread.replace('/', '-')}-{self.parent}"

    @property
    def parent_is_measured(self):
        return self.parent < 2 * CHILD_RATE

    @property
    def limit(self):
        return self.parent if self.parent_is_measured else CHILD_RATE

    @property
    def child_load(self):
        """Offered to each child."""
        return self.factor * (self.parent / 2 if self.parent_is_measured else CHILD_RATE)

    @property
    def steady_from_s(self):
        """t0 + high/(offered - rate) + 1 s."""
        offered = self.child_load * (2 if self.parent_is_measured else 1)
        high = 2 * self.limit  # the default: low is one second of the rate, high two
        return 1 + (high / (offered - self.limit) if offered > self.limit else 0)

    @property
    def seed(self):
        return 1000 + sum(ord(letter) for letter in self.id)


def full_matrix():
    cases = [Case(*values) for values in product(
        (1, 3, 7), ("constant", "poisson"), (0.95, 1.5, 5.0), SPREADS, (3000, 1500))]
    return [case for case in cases if case.sidecars > 1 or case.spread == "even"]


# A second that admitted less than so much of the limit is a fault, unless the machine was late.
LEAST_SECOND = 0.75

# Each value of each dimension at least once.
CI_SUBSET = [
    Case(1, "constant", 5.0, "even", 3000),
    Case(3, "poisson", 1.5, "80/10/10", 1500),
    Case(3, "constant", 5.0, "even", 1500),
    Case(7, "constant", 0.95, "80/10/10", 3000),
    Case(7, "poisson", 5.0, "even", 3000),
]


@dataclass
class Series:
    """One measured quota: admitted over the limit (below the limit: over offered). Mean and worst second are
    those of steadiness.py. The least second is one by the clock: it has only a loose bound, for a machine that
    stands still takes from it (tests/sim/matrix_test.cpp has the strict one)."""

    name: str
    mean: float
    worst: float
    least: float


@dataclass
class Outcome:
    case: Case
    series: list
    refused_share: float
    disagreements: list
    trouble: list
    load: str
    span_ns: tuple
    lag_s: float = 0
    attempt: int = 1  # which run of the case it is

    def faults(self):
        """What breaks the bounds, in words."""
        found = list(self.trouble) + list(self.disagreements)
        case = self.case
        if case.factor < 1:
            if self.refused_share > 0.001:
                found.append(f"refused {self.refused_share:.4%} below the limit")
            return found
        for one in self.series:
            if abs(one.mean - 1) > 0.005:
                found.append(f"{one.name}: steady mean {one.mean:.4f}")
            if one.worst > 1 + worst_second_bound(case):
                found.append(f"{one.name}: worst second {one.worst:.3f}")
            if one.least < LEAST_SECOND:
                found.append(f"{one.name}: least second {one.least:.3f}")
        return found


def worst_second_bound(case):
    if case.arrivals == "constant":
        return 0.05
    # Three deviations of the arrivals' own noise, at most 8 % at 1000/s.
    return min(3.0, 0.08 * math.sqrt(1000)) / math.sqrt(case.limit)


def tree(case, parent, children):
    return [quota(parent, f"{case.parent}r/s"),
            *(quota(child, f"{CHILD_RATE}r/s", parent=parent) for child in children)]


def names_with_shared_owners(folder, origin, fleet_of):
    """Starts a fleet with many candidate quotas, touches each, and asks for their owners: returns
    (fleet, three names of the same owners, the sidecars that own none of them)."""
    candidates = [f"q{i:02}" for i in range(48)]
    fleet = fleet_of([quota(name, f"{CHILD_RATE}r/s") for name in candidates])
    fleet.start()
    for name in candidates:
        http.get(fleet[0].address, f"/{name}/touch")
    owners = wait_until(lambda: owners_of(fleet[0], candidates), 30, "the candidates have owners")
    groups = {}
    for name in candidates:
        groups.setdefault(owners[name], []).append(name)
    chosen_owners, chosen = max(groups.items(), key=lambda item: len(item[1]))
    assert len(chosen) >= 3, groups
    fleet.stop()
    origin.reset()
    others = [one for one in fleet if one.gossip not in chosen_owners]
    assert len(others) == len(fleet) - 3, (chosen_owners, [one.gossip for one in fleet])
    return fleet, chosen[:3], others


def owners_of(sidecar, candidates):
    """{name: owners}, or nothing while one is not known."""
    owners = {}
    for name in candidates:
        found = find_owners(sidecar.quota(name))
        if not found:
            return None
        owners[name] = tuple(sorted(found))
    return owners


def find_owners(report):
    """The first list of owners anywhere in a quota's report."""
    if isinstance(report, dict):
        if report.get("owners"):
            return report["owners"]
        report = list(report.values())
    if isinstance(report, list):
        for part in report:
            found = find_owners(part)
            if found:
                return found
    return None


def run_case(case, folder, steady_s):
    """Runs one case and returns its Outcome; processes are ended, logs stay in the folder."""
    origin = Origin(folder, listeners=names(case.sidecars))
    fleet = None
    try:
        def fleet_of(quotas):
            return Fleet(folder, case.sidecars, quotas, origin)

        parent, children, loaded = "parent", ["one", "two"], None
        if case.sidecars > 3:
            fleet, (parent, *children), loaded = names_with_shared_owners(folder, origin, fleet_of)
            for sidecar in fleet:
                sidecar.write_quotas(tree(case, parent, children), generation=2)
        else:
            fleet = fleet_of(tree(case, parent, children))
        fleet.start()
        return measure(case, folder, fleet, origin, parent, children, loaded or list(fleet), steady_s)
    finally:
        if fleet:
            fleet.stop()
        origin.stop()


def measure(case, folder, fleet, origin, parent, children, loaded, steady_s):
    targets = fleet.targets(loaded)
    shares = SPREADS[case.spread]
    if shares:
        shares = shares + [0] * (len(targets) - len(shares))
    first_s = case.steady_from_s
    streams = [stream(child, case.child_load, case.arrivals, shares) for child in children]
    load = Load(folder, plan(targets, streams, first_s + steady_s + 0.5, case.seed))
    result = load.wait()
    arrivals = origin.arrivals()
    begin_ns = load.start_ns + int(first_s * SECOND)
    measured = [None] if case.parent_is_measured else children
    limit = case.limit if case.factor > 1 else case.limit * case.factor
    series = []
    for key in measured:
        bins, seconds = arrivals.bins(begin_ns, steady_s, key), arrivals.seconds(begin_ns, steady_s, key)
        series.append(Series(key or "parent", fitted_rate(bins) / limit, worst_second(bins, limit),
                             min(seconds) / limit))
    return Outcome(
        case=case,
        series=series,
        refused_share=result.total("refused") / max(1, result.total("offered")),
        disagreements=disagreements(fleet, result, arrivals, children, parent),
        trouble=[*(f"{result.total(what)} {what}" for what in ("other", "errors", "skipped")
                   if result.total(what)),
                 *(loaded_owners(loaded, [parent, *children]) if len(loaded) < len(fleet) else [])],
        load=result.describe(),
        span_ns=result.span_ns,
        # A sidecar that got no processor lets its clients wait, while the generator may be on time.
        lag_s=max(result.lag_ms(), result.largest("max_ms")) / 1000,
    )


def loaded_owners(loaded, quotas):
    """The sidecars under load that own one of the quotas now, in words: the owners were looked up
    in a fleet that has been restarted since."""
    owners = owners_of(loaded[0], quotas)
    if owners is None:
        return [f"no owners are known of one of {quotas}"]
    return [f"{one.name} is under load and owns {name}" for name in quotas for one in loaded
            if one.gossip in owners[name]]
