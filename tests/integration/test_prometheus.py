"""A real Prometheus scrapes three sidecars; what it answers agrees with what the origin counted."""

import shutil
import subprocess
import time
import urllib.parse
from dataclasses import dataclass

import pytest
import yaml

from harness import http
from harness.lateness import on_time
from harness.load import SECOND, Load, plan, stream
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import quota

RATE, SENT = 1000, 2500
LOAD_S, WINDOW_S = 25, 20
ADMITTED, OFFERED, DISCARD = (f'weir_quota_{what}{{quota="bucket"}}' for what in (
    "admitted_total", "offered_total", "discard_probability"))


def need(program):
    if not shutil.which(program):
        pytest.fail(f"{program} is missing: scripts/install-deps --tests")


class Prometheus:
    def __init__(self, folder, targets):
        need("prometheus")
        self.address = f"127.0.0.1:{free_port()}"
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "scrape_configs": [{"job_name": "weir", "static_configs": [{"targets": targets}]}],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.process = Process(["prometheus", f"--config.file={folder}/prometheus.yml",
                                f"--storage.tsdb.path={folder}/tsdb",
                                f"--web.listen-address={self.address}"], folder / "prometheus.log")
        wait_until(self.ready, 30, "prometheus is ready")

    def ready(self):
        try:
            return http.get(self.address, "/-/ready").status == 200
        except OSError:
            return False

    def query(self, expression, at_unix):
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression, "time": at_unix})
        answer = http.get(self.address, path).json()
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def number(self, expression, at_unix):
        rows = self.query(expression, at_unix)
        assert len(rows) == 1, (expression, rows)
        return float(rows[0]["value"][1])

    def samples(self, selector, seconds, at_unix):
        """{instance: [(when, value)]} as scraped, without what rate() and increase() make of it."""
        return {row["metric"]["instance"]: [(when, float(value)) for when, value in row["values"]]
                for row in self.query(f"{selector}[{seconds}s]", at_unix)}


def monotonic_ns(at_unix):
    return time.monotonic_ns() + int((at_unix - time.time()) * SECOND)


@dataclass
class Window:
    """What Prometheus and the origin say of the same seconds in the middle of a load."""

    admitted: float  # a second, as rate() has it
    arrived: float
    offered: float
    sent: float
    discard: float
    fewest: int  # samples of one sidecar

    def faults(self):
        compared = [("admitted", self.admitted, self.arrived), ("offered", self.offered, self.sent)]
        found = [f"{what}: {said:.1f}/s, really {truth:.1f}/s" for what, said, truth in compared
                 if abs(said - truth) > 0.01 * truth]
        if self.fewest < WINDOW_S - 2:
            found.append(f"only {self.fewest} samples of one sidecar")
        really = 1 - self.arrived / self.sent
        # A gauge that sways and is looked at once a second.
        if abs(self.discard - really) > 0.02:
            found.append(f"discard probability {self.discard:.4f}, really {really:.4f}")
        return found


def window_of(prometheus, fleet, arrivals, result, at_unix):
    span = f"[{WINDOW_S}s]"
    sampled = prometheus.samples(ADMITTED, WINDOW_S, at_unix)
    fewest = min(len(rows) for rows in sampled.values())
    assert len(sampled) == len(fleet) and fewest >= 2, sampled
    # rate() is the difference of the last sample and the first over their time: each sidecar's own.
    arrived = 0
    for one in fleet:
        first, last = sampled[one.status][0][0], sampled[one.status][-1][0]
        arrived += arrivals.between(monotonic_ns(first), monotonic_ns(last), "bucket", one.name) / (last - first)
    to_s = (monotonic_ns(at_unix) - result.start_ns) / SECOND
    sent = sum(sign * result.between(what, to_s - WINDOW_S, to_s) for what, sign in (("offered", 1), ("skipped", -1)))
    return Window(
        admitted=prometheus.number(f"sum(rate({ADMITTED}{span}))", at_unix), arrived=arrived,
        offered=prometheus.number(f"sum(rate({OFFERED}{span}))", at_unix), sent=sent / WINDOW_S,
        discard=prometheus.number(f"avg(avg_over_time({DISCARD}{span}))", at_unix), fewest=fewest)


def check_totals(prometheus, fleet, arrivals, results, began):
    """Before all load and after it nothing moves: there each side can be read at any time."""
    settled = time.time()
    wait_until(lambda: prometheus.number(f"min(timestamp({ADMITTED}))", time.time()) > settled + 1, 30,
               "the last scrapes are in")
    now = time.time()
    seconds = int(now - began)
    for selector, truths in (
            (ADMITTED, {one.status: arrivals.total("bucket", one.name) for one in fleet}),
            (OFFERED, {one.status: sum(result.total("offered", target=one.name)
                                       - result.total("skipped", target=one.name) for result in results)
                       for one in fleet})):
        sampled = prometheus.samples(selector, seconds, now)
        for instance, truth in truths.items():
            (_, first), (when, last) = sampled[instance][0], sampled[instance][-1]
            print(f"{instance} {selector}: {first:.0f} to {last:.0f}, really {truth}")
            assert (first, last) == (0, pytest.approx(truth, rel=0.001))
            # Up to the last sample: nothing is extrapolated.
            one = f'{selector[:-1]},instance="{instance}"}}'
            assert prometheus.number(f"increase({one}[{seconds}s])", when) == pytest.approx(truth, rel=0.01)


@pytest.mark.slow
def test_queries_agree_with_the_origin(world, folder):
    fleet = world.fleet(3, [quota("bucket", f"{RATE}r/s")])
    began = time.time()
    prometheus = Prometheus(folder, [one.status for one in fleet])
    results = []

    def run(attempt):
        load = Load(folder, plan(fleet.targets(), [stream("bucket", SENT)], LOAD_S, seed=3), f"load-{attempt}")
        time.sleep(LOAD_S - 1)
        at_unix = time.time()
        results.append(load.wait())
        window = window_of(prometheus, fleet, world.origin.arrivals(), results[-1], at_unix)
        print(window)
        return window, (monotonic_ns(at_unix - WINDOW_S), monotonic_ns(at_unix))
    try:
        wait_until(lambda: len(prometheus.query(f"{ADMITTED} == 0", time.time())) == 3, 30, "all have been scraped")
        _, faults = on_time(run, Window.faults, late_s=0.03)
        check_totals(prometheus, fleet, world.origin.arrivals(), results, began)
    finally:
        prometheus.process.terminate()
    assert not faults


@pytest.mark.smoke
def test_promtool_finds_nothing_to_complain_about(world):
    need("promtool")
    fleet = world.fleet(1, [quota("bucket", "10r/s"), quota("many-{id}", "10r/s")])
    for i in range(30):
        http.get(fleet[0].address, f"/bucket/{i}")
        http.get(fleet[0].address, f"/many-{i}/x")
    text = http.get(fleet[0].status, "/metrics").text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                          capture_output=True, timeout=30)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    quotas = {labels["quota"] for name, labels, _ in http.parse_metrics(text) if "quota" in labels}
    assert quotas <= {"bucket", "many-{id}", "__other__"}
