"""The numbers on a running sidecar's page against what was configured, sent, timed and heard: units,
above all. That counters agree with origin and generator is checked by all tests that load a fleet."""

import socket
import time

import pytest

from harness import http
from harness.load import Load, plan, stream
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota

DELAY_S = 0.05


class Histogram:
    def __init__(self, samples, name):
        self.sum = http.metric_sum(samples, f"{name}_sum")
        self.count = http.metric_sum(samples, f"{name}_count")
        bounds = {labels["le"] for found, labels, _ in samples if found == f"{name}_bucket"}
        self.buckets = sorted((float(le), http.metric_sum(samples, f"{name}_bucket", le=le)) for le in bounds)

    def mean(self):
        return self.sum / self.count

    def share_up_to(self, seconds):
        """Of the samples, by the bucket with that bound."""
        return dict(self.buckets)[seconds] / self.count


def decision_means(sidecar, load):
    """Of each half second of the load."""
    means, last = [], None
    end = time.monotonic() + load.duration_s - 1
    while time.monotonic() < end:
        page = Histogram(sidecar.metrics(), "weir_decision_duration_seconds")
        if last and page.count > last.count:
            means.append((page.sum - last.sum) / (page.count - last.count))
        last = page
        time.sleep(0.5)
    return means


def test_durations_are_in_seconds(world, folder):
    one, = world.fleet(1, [quota("bucket", "100000r/s")], delay_ms=1000 * DELAY_S)
    load = Load(folder, plan({one.name: one.address}, [stream("bucket", 400)], 6, seed=50))
    means = decision_means(one, load)
    result = load.wait()
    sent = result.total("ok")
    assert sent == result.total("offered") - result.total("skipped") > 1000, result.describe()
    wait_equal(lambda: one.metric("weir_request_duration_seconds_count"), sent, "requests that were timed")
    samples = one.metrics()
    request, upstream, decision = (Histogram(samples, f"weir_{what}_duration_seconds")
                                   for what in ("request", "upstream", "decision"))
    print(f"means: request {request.mean():.4f}, upstream {upstream.mean():.4f}, decision {decision.mean():.2e} s, "
          f"at best {min(means):.2e} s")
    assert http.metric_sum(samples, "weir_request_duration_seconds_count", code_class="2xx") == sent
    for histogram in (request, upstream):
        assert histogram.count == sent and histogram.buckets[-1] == (float("inf"), sent)
        # weir and the origin read their clocks once a turn: a moment may be missing.
        assert 0.98 * DELAY_S < histogram.mean() < 0.5
        assert histogram.share_up_to(0.025) == 0
        assert histogram.share_up_to(0.5) > 0.5
    assert upstream.sum <= request.sum
    # One in sixteen is timed. What the machine does meanwhile is in some of them, never in most.
    assert decision.count == sent // 16
    assert decision.mean() < 0.01
    assert decision.share_up_to(1e-4) > 0.5
    assert 1e-8 < min(means) < 1e-4


def test_limits_are_as_configured_in_weight_a_second(world):
    one, = world.fleet(1, [
        quota("second", "1000r/s"), quota("minute", "30r/m"), quota("odd", "1500r/10s"), quota("none", "0r/s"),
        quota("bytes", {"rate": "5MiB/s", "of": "request-bytes"}),
        quota("out", {"rate": "60kB/m", "of": "response-bytes"}),
        quota("cost", {"rate": "2.5c/s", "of": "cost"}),
        quota("two-{id}", "100r/s", "600r/m"), quota("unlimited"),
        quota("flying", {"concurrency": 64}),
    ])
    assert one.metric("weir_quota_concurrency_limit", quota="flying") == 64
    shown = {(labels["quota"], labels["unit"], labels["period"]): value
             for name, labels, value in one.metrics() if name == "weir_quota_limit"}
    assert shown == pytest.approx({
        ("second", "requests", "1s"): 1000, ("minute", "requests", "1m"): 0.5, ("odd", "requests", "10s"): 150,
        ("none", "requests", "1s"): 0, ("bytes", "request_bytes", "1s"): 5 * 2**20,
        ("out", "response_bytes", "1m"): 1000, ("cost", "cost", "1s"): 2.5,
        ("two-{id}", "requests", "1s"): 100, ("two-{id}", "requests", "1m"): 10,
    })


def test_level_ratios_are_what_was_sent_over_the_low_burst(world):
    drains = 0.1  # a second: next to nothing while the test runs
    slow = {"rate": f"{drains}r/s", "low": "100r", "high": "200r"}
    one, = world.fleet(1, [quota("one", slow), quota("two", slow, {"rate": "6r/m", "low": "50r", "high": "200r"}), quota("many-{id}", slow),
                           quota("idle", slow)],
                       routes=[{"match": {"path": "/many/{id}"}, "quota": ["many-{id}"]},
                               {"match": {"path": "/{bucket}"}, "quota": ["{bucket}"]}])
    began = time.monotonic()
    for path, count in {"/one": 50, "/two": 25, "/many/a": 20, "/many/b": 60}.items():
        assert all(http.get(one.address, path).status == 200 for _ in range(count))
    sent = {("weir_quota_level_ratio", "one"): (50, 100), ("weir_quota_level_ratio", "two"): (25, 50),
            ("weir_quota_level_ratio_max", "one"): (50, 100), ("weir_quota_level_ratio_max", "many-{id}"): (60, 100)}

    def wrong():
        samples = one.metrics()
        drained = drains * (time.monotonic() - began)
        shown = {key: http.metric_sum(samples, key[0], quota=key[1]) for key in sent}
        found = {key: (shown[key], weight, low) for key, (weight, low) in sent.items()
                 if not (weight - drained) / low - 1e-9 <= shown[key] <= weight / low + 1e-9}
        mean = http.metric_sum(samples, "weir_quota_level_ratio", quota="many-{id}")
        if not (20 - drained) / 100 < mean < 60 / 100:
            found["mean of the instances"] = mean
        if http.metric_sum(samples, "weir_quota_level_ratio", quota="idle") != 0:
            found["idle"] = "is not 0"
        return found
    wait_equal(wrong, {}, "level ratios as sent")


def test_gossip_bytes_are_those_of_the_datagrams(world):
    """To a seed that only listens, and from a stranger: nobody else knows the sidecar."""
    fleet = world.fleet(2, [quota("bucket", "10r/s")], start=False)
    one = fleet[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as seed:
        seed.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        seed.bind(("127.0.0.1", 0))
        seed.setblocking(False)
        one.cluster["join"] = [f"127.0.0.1:{seed.getsockname()[1]}"]
        one.start()
        heard = []

        def listen():
            try:
                while True:
                    heard.append(len(seed.recv(65536)))
            except BlockingIOError:
                return len(heard), sum(heard)

        def traffic(direction):
            samples = one.metrics()
            return tuple(http.metric_sum(samples, f"weir_gossip_{what}_total", direction=direction)
                         for what in ("datagrams", "bytes"))
        wait_until(lambda: listen()[0] >= 5, 60, "the seed has heard of it")

        def agree():
            # What is sent between two looks is on the page or not.
            before, shown, after = listen(), traffic("out"), listen()
            return before[1] <= shown[1] <= after[1] and before[0] <= shown[0] <= after[0]
        wait_until(agree, 20, "bytes out as the seed heard them")
        assert traffic("in") == (0, 0)
        sizes = range(100, 1000, 9)
        for size in sizes:
            seed.sendto(b"\x00" * size, ("127.0.0.1", one.gossip_port))
        wait_equal(lambda: traffic("in"), (len(sizes), sum(sizes)), "bytes in as they were sent")
