"""What can break about the limiter itself: no room for a key, documents that say nothing, no limits at
all. Every request passes, and none is slower. The other parts' turn is in test_broken_parts.py."""

import contextlib
import itertools
import json
import random
import threading

import pytest

from harness import http, paired
from harness.processes import wait_until
from harness.sidecar import BUCKET_ROUTES, quota
from test_host_faults import flood_keys

# Half a minute each, and worth nothing on a machine that does other things.
pytestmark = pytest.mark.long

QUOTAS = [quota("bucket", "2000r/s"), quota("other", "1000r/s")]


def test_no_request_is_slower_for_keys_that_find_no_room(world, folder):
    """The table is full of busy buckets; each request of a further key looks for one that could make
    room, and shares its template's overflow instance."""
    once = {"rate": "1r/h", "low": "1r", "high": "1r"}  # full for an hour after one request
    routes = [{"match": {"path": "/busy/{key}"}, "quota": "busy/{key}"},
              {"match": {"path": "/tenant/{key}"}, "quota": "tenant/{key}"}, *BUCKET_ROUTES]
    fleet = world.fleet(2, [quota("busy/{key}", once), quota("tenant/{key}", "5000r/s"), *QUOTAS], routes,
                        {"limiter": {"max_instances": 1000}, "limits": {"pipelined_requests": 10_000}})
    for number, one in enumerate(fleet):
        flood_keys(one.address, 1500, seed=number, path="/busy/{}")
        assert one.metric("weir_quota_overflow_requests_total", quota="busy/{key}") > 0

    def shared():
        return fleet.metric("weir_quota_overflow_requests_total", quota="tenant/{key}")

    def measure(seed):
        result, grown = paired.measure(fleet, folder, seed, contextlib.nullcontext, shared,
                                       {"faulty": {"path": "/tenant/{}", "variants": 100_000}})
        assert grown["whole"] == 0
        # A tenant that found room is at rest at once, and its place may serve the next one: of most
        # of them, then, medians are.
        assert grown["faulty"] > 0.6 * sum(result.total("offered", f"faulty{pair}")
                                           for pair in range(paired.PAIRS))
        return result
    paired.assert_none_slower(fleet, measure(65), lambda: measure(66))


@contextlib.contextmanager
def garbage(fleet, quotas):
    """Quota files of noise, of half a document, and of refused definitions, five times a second."""
    generator = random.Random(67)
    good = [one.quota_file.read_bytes() for one in fleet]
    broken = itertools.cycle([generator.randbytes(50_000), good[0][:len(good[0]) // 2] + b"\n- {",
                              good[0].replace(b"2000r/s", b"many"), b"", b"[" * 5000])
    ending = threading.Event()

    def go():
        while not ending.wait(0.2):
            content = next(broken)
            for one in fleet:
                one.quota_file.write_bytes(content)
                one.reload()
            refused = {"limits": [{"rate": "5r/s"}], "parent": "nobody"}
            http.request(fleet[0].admin, "PUT", "/v1/quotas/other", json.dumps(refused),
                         {"Content-Type": "application/json"})
    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        for one in fleet:
            one.write_quotas(quotas)
            one.reload()


def test_no_request_is_slower_while_documents_are_garbage(world, folder):
    fleet = world.fleet(2, QUOTAS)

    def failures():
        return fleet.metric("weir_config_reloads_total", result="failure")

    def measure(seed):
        result, grown = paired.measure(fleet, folder, seed, lambda: garbage(fleet, QUOTAS), failures)
        assert grown["faulty"] >= 5 * paired.PAIRS
        return result
    paired.assert_none_slower(fleet, measure(67), lambda: measure(68))
    wait_until(lambda: all(one.metric("weir_config_last_reload_successful") == 1 for one in fleet), 30,
               "the good documents are read again")


@contextlib.contextmanager
def without_limits(fleet):
    """Every quota hidden, at one sidecar and so at all."""
    names = [one["name"] for one in QUOTAS]
    for name in names:
        fleet[0].command("quota", "set", name, "--absent")
    try:
        wait_until(lambda: fleet.metric("weir_quotas") == 0, 20, "there is no quota")
        yield
    finally:
        for name in names:
            fleet[0].command("quota", "rm", name)


def test_no_request_is_slower_when_there_are_no_limits_any_more(world, folder):
    fleet = world.fleet(2, QUOTAS)

    def measure(seed):
        return paired.measure(fleet, folder, seed, lambda: without_limits(fleet))[0]
    paired.assert_none_slower(fleet, measure(69), lambda: measure(70))
    wait_until(lambda: fleet.metric("weir_quotas") == 4, 30, "they are there again")
