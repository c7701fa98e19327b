"""The tools themselves: what the generator says it sent, the origin counts."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness import http
from harness.lateness import Lateness
from harness.load import SECOND, Load, plan, stream
from harness.origin import Origin
from harness.processes import wait_until

pytestmark = pytest.mark.smoke


@pytest.fixture
def origin(folder):
    one = Origin(folder, listeners=("a", "b"))
    yield one
    one.stop()


def targets(origin):
    return {name: origin.addresses[name] for name in ("a", "b")}


def test_generator_and_origin_agree(folder, origin):
    streams = [stream("x", 1000, shares=[80, 20]), stream("y", 200, "poisson")]
    result = Load(folder, plan(targets(origin), streams, 2)).wait()
    arrivals = origin.arrivals()
    for name in ("x", "y"):
        assert arrivals.total(name) == result.total("offered", name) == result.total("ok", name)
    assert result.total("offered", "x") == pytest.approx(2000, abs=1)
    assert arrivals.total("x", "a") == pytest.approx(1600, abs=2)
    # Both go by the same clock: a second of one is a second of the other, but for a late machine.
    seconds = arrivals.seconds(result.start_ns, 2, "x")
    assert seconds[0] == pytest.approx(1000, abs=300)


def test_rates_and_shares_change_and_targets_pause_on_time(folder, origin):
    streams = [stream("x", [(0, 100), (1, 400)], shares=[(0, [1, 0]), (1, [1, 1])])]
    load = Load(folder, plan(targets(origin), streams, 2.5))
    result = load.result
    assert load.process.running()
    wait_until(lambda: any(row["at_s"] >= 1.5 for row in result.bins), 20, "1.5 s have passed")
    load.pause("b")
    load.wait()
    # Whatever the machine does, all that is due is offered, if late.
    paused_s, = [row["at_s"] for row in load.commands if row["line"] == "pause b"]
    late = 0.2 * result.lag_ms()
    assert 1.5 <= paused_s < 2.5
    assert result.total("offered") == pytest.approx(100 + 1.5 * 400, abs=2)
    assert result.total("offered", target="b") == pytest.approx((paused_s - 1) * 200, abs=3 + late)
    assert result.between("offered", 0, 1, target="b") == 0
    assert result.between("offered", 1, 1.5, target="b") > 0
    assert result.between("offered", paused_s + 0.1, 2.6, target="b") == 0


def test_slow_answers_never_slow_the_schedule(folder):
    origin = Origin(folder, delay_ms=600)
    try:
        many = plan({"a": origin.address}, [stream("x", 500)], 1, connections_per_target=100,
                    queue_per_target=50)
        result = Load(folder, many).wait()
    finally:
        origin.stop()
    assert result.total("offered") == pytest.approx(500, abs=1)
    assert result.total("skipped") > 0
    assert result.total("errors") == 0
    assert result.total("ok") + result.total("skipped") == result.total("offered")


def test_what_falls_due_while_a_target_stands_still_is_sent_late(folder, origin):
    load = Load(folder, plan({"a": origin.address}, [stream("x", 2000)], 2.5))
    wait_until(lambda: load.result.bins, 20, "the load has begun")
    origin.process.signal(signal.SIGSTOP)
    time.sleep(1)
    origin.process.signal(signal.SIGCONT)
    result = load.wait()
    assert max(row["slowest_ms"] for row in result.bins) > 900
    assert result.total("ok") == result.total("offered") == pytest.approx(5000, abs=1)


def test_a_dead_target_costs_errors_not_time(folder):
    result = Load(folder, plan({"a": "127.0.0.1:1"}, [stream("x", 100)], 0.5)).wait()
    assert result.total("errors") == result.total("offered") == pytest.approx(50, abs=1)


def test_origin_on_a_unix_socket(folder):
    origin = Origin(folder, unix_socket=folder / "s")
    try:
        result = Load(folder, plan({"a": f"unix:{folder}/s"}, [stream("x", 100)], 0.5)).wait()
        assert result.total("ok") == origin.arrivals().total("x", "unix") == pytest.approx(50, abs=1)
    finally:
        origin.stop()


def test_origin_resets_and_reports(folder, origin):
    http.get(origin.addresses["a"], "/key/1")
    assert origin.arrivals().keys() == ["key"]
    origin.reset()
    assert origin.arrivals().keys() == []


def test_a_process_without_a_processor_is_seen_to_wait():
    """Two that never sleep share one processor; each is a child of a child of this one."""
    spin = "import time; end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
    share = ["sh", "-c", 'taskset -c "$1" "$0" -c "$2"; exit $?', sys.executable, str(min(os.sched_getaffinity(0))), spin]
    with Lateness() as late:
        begin_ns = time.monotonic_ns()
        both = [subprocess.Popen(share) for _ in range(2)]
        assert [one.wait(30) for one in both] == [0, 0]
        end_ns = time.monotonic_ns()
    assert late.longest_s((begin_ns, end_ns)) >= 0.015
    assert late.longest_s((end_ns + SECOND, end_ns + 2 * SECOND)) == 0
