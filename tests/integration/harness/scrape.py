"""What a scrape costs the sidecar: processor time of its control thread, which nothing else on the
machine changes, and never that of a page that was kept from an earlier scrape."""

import time

from . import http


def control_cpu_ns(sidecar):
    """Run time of the control thread, which is the process's first."""
    with open(f"/proc/{sidecar.process.pid}/schedstat") as file:
        return int(file.read().split()[0])


def requests_counted(text):
    return http.metric_sum(http.parse_metrics(text), "weir_requests_total")


def scrape_cost(sidecar, path="/nothing/x", pages=5, timeout_s=60):
    """(milliseconds, bytes): the least of some pages. Each counts a request that was made since the
    page before: a dear scrape is given again for ten times as long as it took, and such a page is
    not counted here."""
    last = requests_counted(http.get(sidecar.status, "/metrics", timeout_s=30).text)
    costs = []
    deadline = time.monotonic() + timeout_s
    while len(costs) < pages:
        assert time.monotonic() < deadline, f"only {len(costs)} fresh pages within {timeout_s} s"
        http.get(sidecar.address, path)
        before = control_cpu_ns(sidecar)
        page = http.get(sidecar.status, "/metrics", timeout_s=30)
        cost = (control_cpu_ns(sidecar) - before) / 1e6
        counted = requests_counted(page.text)
        if counted > last:
            costs.append((cost, len(page.body)))
            last = counted
        else:
            time.sleep(0.1)
    return min(costs)[0], max(size for _, size in costs)
