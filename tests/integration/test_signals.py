"""Signals at moments when they were lost or did harm, and what SIGHUP reads again."""

import os
import random
import signal
import time

import pytest

from harness import http
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota

MANY = 50_000


def blocks(process, number):
    """Whether the process holds this signal back now."""
    with open(f"/proc/{process.pid}/status") as status:
        mask = next(line for line in status if line.startswith("SigBlk:")).split()[1]
    return int(mask, 16) >> (number - 1) & 1 == 1


def slow_start(world):
    """A sidecar that reads its quotas for a while yet and holds its signals back meanwhile."""
    sidecar = world.fleet(1, [], start=False)[0]
    rows = "".join(f"- {{name: q{i}, limits: [{{rate: 5r/s}}]}}\n" for i in range(MANY))
    sidecar.quota_file.write_text(
        f"apiVersion: weir/v1\nkind: QuotaSet\nname: test\ngeneration: 1\nquotas:\n{rows}")
    sidecar.start(wait=False)
    deadline = time.monotonic() + 20
    while not blocks(sidecar.process, signal.SIGHUP):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return sidecar


@pytest.mark.smoke
def test_a_reload_asked_for_while_it_starts_does_not_end_it(world):
    sidecar = slow_start(world)
    sidecar.reload()
    sidecar.wait_ready()
    assert http.get(sidecar.address, "/q7/x").status == 200
    assert not blocks(sidecar.process, signal.SIGHUP)
    assert sidecar.stop() == 0


@pytest.mark.smoke
def test_told_to_end_while_it_starts_it_ends_well(world):
    sidecar = slow_start(world)
    assert sidecar.stop(60) == 0


@pytest.mark.quick
@pytest.mark.smoke
def test_the_admin_token_is_read_again(world, folder):
    tokens = folder / "token"
    tokens.write_text("the-first-token-of-all\n")
    settings = {"admin_token_file": str(tokens)}
    sidecar = world.fleet(1, [quota("bucket", "5r/s")], settings=settings, start=False)[0].start()

    def answer(token):
        return http.get(sidecar.admin, "/v1/peers", headers={"Authorization": f"Bearer {token}"}).status

    assert [answer("the-first-token-of-all"), answer("the-second-token-of-all")] == [200, 401]
    tokens.write_text("the-second-token-of-all\n")
    sidecar.reload()
    wait_equal(lambda: answer("the-second-token-of-all"), 200, "the new token is in force")
    assert answer("the-first-token-of-all") == 401
    tokens.write_text("short\n")
    sidecar.reload()
    wait_equal(lambda: sidecar.metric("weir_config_last_reload_successful"), 0, "the bad file shows")
    assert answer("the-second-token-of-all") == 200


@pytest.mark.smoke
def test_a_pipe_that_nobody_reads_holds_up_neither_reload_nor_requests(world, folder):
    pipe = folder / "access.pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        sidecar = world.fleet(1, [quota("bucket", "100000r/s")],
                              settings={"access_log": "all", "access_log_file": str(pipe)})[0]
    finally:
        os.close(reader)
    reloads = sidecar.metric("weir_config_reloads_total")
    sidecar.reload()
    wait_until(lambda: sidecar.metric("weir_config_reloads_total") > reloads, 20, "it was read again")
    assert http.get(sidecar.address, "/bucket/x").status == 200
    assert "nobody reads this pipe" in sidecar.log_tail(50)


@pytest.mark.smoke
def test_quotas_that_change_while_settings_are_read_again_come_into_force(world):
    sidecar = world.fleet(1, [quota("bucket", "100r/s")])[0]
    waits = random.Random(7)
    for generation in range(2, 22, 2):
        sidecar.write_quotas([quota("bucket", f"{generation}r/s")], generation)
        sidecar.reload()
        time.sleep(waits.uniform(0, 0.12))
        sidecar.write_quotas([quota("bucket", f"{generation + 1}r/s")], generation + 1)
        wait_equal(lambda: sidecar.metric("weir_quota_limit", quota="bucket"), generation + 1,
                   "the last one written is in force")
