"""Long sets of quotas: what they may take of the memory, and what is served while they are loaded."""

import json
import time

import pytest

from harness import http
from harness.processes import wait_until
from harness.sidecar import quota


def write_set(sidecar, count, generation, rate="10r/s"):
    """A JSON document of that many exact quotas, which replaces the one before at once."""
    path = sidecar.folder / "many.json"
    quotas = [{"name": "all", "limits": [{"rate": "1000000r/s"}]}]
    quotas += [{"name": f"customer-{i:07}", "parent": "all", "limits": [{"rate": rate}]} for i in range(count)]
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "many",
                               "generation": generation, "quotas": quotas}))
    new.replace(path)
    return path


@pytest.fixture
def sidecar(world):
    return world.fleet(1, [], start=False)[0]


def errors_of(sidecar):
    return "\n".join(sidecar.api("/v1/config")["errors"])


def test_a_set_that_would_not_fit_is_refused_and_what_was_in_force_stays(sidecar):
    few, many = 20_000, 400_000
    sidecar.settings = {"limits": {"memory": "112MiB"}, "quotas": [str(write_set(sidecar, few, 1))]}
    sidecar.start()
    before = sidecar.api("/v1/config")
    assert before["quotas"] == few + 1

    write_set(sidecar, many, 2)
    sidecar.reload()
    wait_until(lambda: "would take" in errors_of(sidecar), 60, "the set is refused")
    print(errors_of(sidecar))
    assert "left under the memory limit" in errors_of(sidecar)
    after = sidecar.api("/v1/config")
    assert after["quotas"] == few + 1
    assert sidecar.metric("weir_quotas") == few + 1
    assert sidecar.quota("customer-0000007")["definition"]["limits"][0]["rate"] == "10r/s"
    assert sidecar.metric("weir_config_last_reload_successful") == 0
    # There may be one of the file as well: it is read again while the first reading is being installed.
    wait_until(lambda: sidecar.metric("weir_problems", kind="set_too_large") >= 1, 20, "it is a problem")

    # It serves, for as long as anybody looks.
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        assert http.get(sidecar.address, "/customer-0000007/x").status == 200
        assert http.get(sidecar.status, "/readyz").status == 200
        time.sleep(0.2)
    assert sidecar.metric("weir_memory_shedding") == 0
    assert sidecar.metric("weir_requests_total", reason="memory") == 0

    # One that fits is taken, and nothing of the other one is left.
    write_set(sidecar, few, 3, rate="20r/s")
    sidecar.reload()
    wait_until(lambda: not sidecar.api("/v1/config")["errors"], 60, "the next set is in force")
    wait_until(lambda: sidecar.quota("customer-0000007")["definition"]["limits"][0]["rate"] == "20r/s", 20,
               "its quotas are in force")
    wait_until(lambda: sidecar.metric("weir_problems", kind="set_too_large") == 0, 20, "the problem is over")


def test_at_a_start_a_set_that_would_not_fit_is_left_out_with_the_reason(sidecar):
    sidecar.settings = {"limits": {"memory": "64MiB"}, "quotas": [str(write_set(sidecar, 400_000, 1))]}
    sidecar.start()
    wait_until(lambda: sidecar.metric("weir_problems", kind="set_too_large") == 1, 60, "it is a problem")
    assert "would take" in errors_of(sidecar)
    assert sidecar.metric("weir_quotas") == 0
    assert http.get(sidecar.address, "/customer-0000007/x").status == 200
    write_set(sidecar, 1000, 2)
    wait_until(lambda: sidecar.metric("weir_quotas") == 1001, 60, "one that fits is taken")


def test_long_quotas_are_loaded_while_requests_are_served(sidecar):
    count = 200_000
    sidecar.settings = {"quotas": [str(write_set(sidecar, count, 1))]}
    sidecar.start(wait=False)
    seen = []

    def ready():
        assert sidecar.process.running(), sidecar.log_tail()
        try:
            health = http.get(sidecar.status, "/readyz")
            served = http.get(sidecar.address, "/elsewhere/x").status
        except OSError:
            return False
        seen.append((health.status, health.text, served))
        return health.status == 200
    wait_until(ready, 60, "it is ready")
    loading = [served for status, text, served in seen if (status, text) == (503, "not ready: loading quotas\n")]
    assert loading and set(loading) == {200}, seen
    # All that are in force when it is ready, and not only the first of them.
    config = sidecar.api("/v1/config")
    assert config["quotas"] == count + 1 and config["quotas_waiting"] == 0
    assert "[+]loaded ok" in http.get(sidecar.status, "/readyz?verbose").text


def test_errors_in_long_quotas_are_told_with_their_places(sidecar):
    path = write_set(sidecar, 100_000, 1)
    path.write_text(path.read_text().replace('"customer-0099999"', '"customer-{"'))
    sidecar.settings = {"quotas": [str(path)]}
    sidecar.start()
    wait_until(lambda: "quotas[100000].name" in errors_of(sidecar), 60, "they are told")
    assert "quotas[100000].name" in sidecar.log_tail(30)


@pytest.mark.smoke
def test_short_quotas_are_in_force_before_the_first_request(sidecar):
    sidecar.write_quotas([quota("closed", "0r/s")])
    sidecar.start(wait=False)
    statuses = []

    def answered():
        try:
            statuses.append(http.get(sidecar.address, "/closed/x").status)
        except OSError:
            return False
        return True
    wait_until(answered, 60, "it serves")
    assert statuses == [429]
