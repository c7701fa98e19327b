"""A real Prometheus scrapes three sidecars; what it answers agrees with what the origin counted."""

import shutil
import subprocess
import time
import urllib.parse

import pytest
import yaml

from harness import http
from harness.load import SECOND, Load, plan, stream
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import quota

RATE, OFFERED = 1000, 2500
WINDOW_S = 15


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
        return [(row["metric"], float(row["value"][1])) for row in answer["data"]["result"]]

    def number(self, expression, at_unix):
        rows = self.query(expression, at_unix)
        assert len(rows) == 1, (expression, rows)
        return rows[0][1]


def test_queries_agree_with_the_origin(world, folder):
    fleet = world.fleet(3, [quota("bucket", f"{RATE}r/s")])
    prometheus = Prometheus(folder, [one.status for one in fleet])
    try:
        load = Load(folder, plan(fleet.targets(), [stream("bucket", OFFERED)], 22, seed=3))
        time.sleep(20)
        at_unix, at_ns = time.time(), time.monotonic_ns()
        load.wait()
        arrivals = world.origin.arrivals()
        window = f'[{WINDOW_S}s]'
        admitted = prometheus.number(f'sum(rate(weir_quota_admitted_total{{quota="bucket"}}{window}))', at_unix)
        counted = arrivals.between(at_ns - WINDOW_S * SECOND, at_ns, "bucket") / WINDOW_S
        discard = prometheus.number(
            f'avg(avg_over_time(weir_quota_discard_probability{{quota="bucket"}}{window}))', at_unix)
        up = prometheus.number(f'count(avg_over_time(up{window}) > 0.5)', at_unix)
    finally:
        prometheus.process.terminate()
    print(f"admitted {admitted:.1f}/s, origin {counted:.1f}/s, discard probability {discard:.3f}")
    assert up == 3
    assert admitted == pytest.approx(counted, rel=0.03)
    assert discard == pytest.approx(1 - counted / OFFERED, abs=0.03)


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
