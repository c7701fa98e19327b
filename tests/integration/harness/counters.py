"""What weir counted beside what the generator sent and what the origin saw."""

import time

from . import http

TOLERANCE = 0.001
SETTLED_S = 20


def disagreements(fleet, result, arrivals, quotas, parent=None):
    """Where weir's counters differ by more than 0.1 % from generator and origin, in words, also
    when all that is still on its way has been counted.

    `quotas`: names that are also the first segment of their streams' paths; a mapping gives each
    one's streams where they have names of their own. `parent`: a quota that every request passes.
    Only for runs in which no sidecar was killed. A refusal counts at the quota that is named, so
    refusals are compared as one sum.
    """
    end = time.monotonic() + SETTLED_S
    while (found := differences(fleet, result, arrivals, quotas, parent)) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def differences(fleet, result, arrivals, quotas, parent):
    samples = [sample for sidecar in fleet for sample in sidecar.metrics()]
    streams_of = quotas if isinstance(quotas, dict) else {name: [name] for name in quotas}
    compared = [("refused", {}, result.total("refused"))]
    for name, streams in streams_of.items():
        # What the generator had no connection for was never sent.
        offered = sum(result.total("offered", stream) - result.total("skipped", stream) for stream in streams)
        compared.append(("offered", {"quota": name}, offered))
        compared.append(("admitted", {"quota": name}, arrivals.total(name)))
    if parent:
        arrived = sum(arrivals.total(name) for name in streams_of)
        compared.append(("admitted", {"quota": parent}, arrived))
    found = []
    for metric, labels, truth in compared:
        name = f"weir_quota_{metric}_total"
        counted = http.metric_sum(samples, name, **labels)
        if abs(counted - truth) > TOLERANCE * truth:
            found.append(f"{name}{labels or ''}: {counted:.0f}, really {truth}")
    return found
