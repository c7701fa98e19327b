"""What a scrape costs a real sidecar, and how large its page is, where much lives."""

import socket

import pytest
from harness import http
from harness.ports import free_port
from harness.processes import wait_until
from harness.scrape import scrape_cost
from harness.sidecar import quota

PAGE = 1_000_000
STATUS_LINE = b"HTTP/1.1 "
TEMPLATE = quota("k/{key}", "1r/h")


def long_quotas(count, size):
    """Names of so many bytes, and two limits each."""
    return [quota(f"tenant-{i:05}-".ljust(size, "x"), "1000r/s", "100000r/h") for i in range(count)]


def use_names(sidecar, first, last, at_once=500):
    """One request for each of the template's instances, asked on /check, many on the way at once."""
    host, port = sidecar.settings["check"]["listen"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as client:
        for begin in range(first, last, at_once):
            names = range(begin, min(begin + at_once, last))
            client.sendall(b"".join(b"GET /check?quota=k/%d HTTP/1.1\r\nHost: a\r\n\r\n" % i
                                    for i in names))
            answered = 0
            rest = b""
            while answered < len(names):
                part = client.recv(1 << 20)
                assert part, "the connection stays"
                rest += part
                answered += rest.count(STATUS_LINE)
                rest = rest[-len(STATUS_LINE) + 1:]


@pytest.mark.parametrize("instances", [60_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_scrape_costs_the_same_however_many_instances_live(world, instances):
    few = 2_000
    settings = {"check": {"listen": f"127.0.0.1:{free_port()}"},
                "limiter": {"max_instances": 1_100_000}}
    sidecar, = world.fleet(1, [TEMPLATE, *long_quotas(1_500, 60)], settings=settings)

    def cost_with(first, count):
        # New names in such numbers may meet the table while it grows and share the overflow instance
        # for that once: they are asked again.
        for _ in range(10):
            use_names(sidecar, first, count)
            if sidecar.metric("weir_limiter_instances") == count:
                break
        # Of many the gauges are those of the last round over them.
        wait_until(lambda: count <= sidecar.metric("weir_quota_instances", quota="k/{key}") <= count + 1,
                   60, f"the page tells of {count} instances", every_s=0.5)
        milliseconds, size = scrape_cost(sidecar)
        print(f"{count} instances: {milliseconds:.2f} ms of processor time, {size} bytes, "
              f"{sidecar.metric('process_resident_memory_bytes') / 2**20:.0f} MiB resident")
        assert size < PAGE
        return milliseconds
    small = cost_with(0, few)
    large = cost_with(few, instances)
    # A look at each of a million would be some 50 ms more.
    assert large < 3 * small
    if instances >= 1_000_000:
        assert large < 50  # what is required, of processor time; measured 14 to 23
    page = sidecar.metrics()
    assert http.metric_sum(page, "weir_quotas") == 1_501
    # 1,500 quotas of 60 bytes and two limits would be 1.4 MB.
    shown = {labels["quota"] for name, labels, _ in page if name == "weir_quota_offered_total"}
    assert {"k/{key}", "__other__"} <= shown
    assert 500 < len(shown) <= 1_001
    assert http.metric_sum(page, "weir_metrics_series_dropped_total") == 1_501 - (len(shown) - 1)


def test_a_quota_that_refuses_gets_series_of_its_own_when_the_page_is_full(world):
    quotas = long_quotas(1_500, 120)
    closed = quota("zz-closed", "0r/s")
    sidecar, = world.fleet(1, [*quotas, closed])
    assert len(http.get(sidecar.status, "/metrics").body) < PAGE
    # Whoever is last in the document is not on the page, until it is the one to look for.
    last = quotas[-1]["name"]

    def shown(name):
        return [number for metric, labels, number in sidecar.metrics()
                if metric == "weir_quota_refused_total" and labels["quota"] == name]
    assert shown(last) == []
    sidecar.write_quotas([*quotas[:-1], quota(last, "0r/s"), closed], 2)
    wait_until(lambda: http.get(sidecar.address, f"/{last}/x").status == 429, 30, "the new limit")
    assert sum(wait_until(lambda: shown(last), 30, "it has series")) <= 1
    assert http.get(sidecar.address, f"/{last}/x").status == 429
    wait_until(lambda: sum(shown(last)) + sum(shown("__other__")) == 2, 30, "both are counted once")
    assert len(http.get(sidecar.status, "/metrics").body) < PAGE
