"""The settings' file is followed while a sidecar runs: no signal is sent here."""

import os
import time

import pytest
import yaml

from harness import http
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota, quota_set

pytestmark = [pytest.mark.smoke]

QUOTAS = [quota("open", "1000r/s"), quota("closed", "0r/s")]


def status(sidecar, path="/x"):
    return http.get(sidecar.address, path).status


def write_settings(sidecar, **changes):
    """Replaces the settings' file by a rename, as careful editors do."""
    new = sidecar.config_file.with_suffix(".new")
    new.write_text(yaml.safe_dump({**sidecar.config(), **changes}, sort_keys=False))
    os.replace(new, sidecar.config_file)


def problems(sidecar):
    return {one["kind"]: one["problem"] for one in sidecar.api("/v1/problems")["problems"]}


def test_new_routes_take_effect_by_themselves(world):
    sidecar = world.fleet(1, QUOTAS, routes=[{"quota": "open"}])[0]
    assert status(sidecar) == 200
    write_settings(sidecar, routes=[{"match": {"path": "/x"}, "quota": "closed"}, {"quota": "open"}])
    wait_equal(lambda: status(sidecar), 429, "the new route is in force")
    assert status(sidecar, "/y") == 200
    assert problems(sidecar) == {}
    hashes = sidecar.api("/v1/config")["hash"]
    assert sidecar.metric("weir_config_reloads_total") == 1
    # In place and as it was: an editor that saves without a change reloads nothing.
    sidecar.config_file.write_text(sidecar.config_file.read_text())
    write_settings(sidecar, routes=[{"quota": "open"}], log={"level": "debug", "format": "json"})
    wait_equal(lambda: status(sidecar), 200, "the routes are taken back")
    assert sidecar.api("/v1/config")["hash"] != hashes
    assert sidecar.api("/v1/status")["log_level"] == "debug"
    assert sidecar.metric("weir_config_reloads_total") == 2
    time.sleep(1)
    assert sidecar.metric("weir_config_reloads_total") == 2


def test_a_bad_file_changes_nothing_and_is_a_problem_until_it_is_mended(world):
    sidecar = world.fleet(1, QUOTAS, routes=[{"quota": "closed"}])[0]
    write_settings(sidecar, routes=[{"quota": "open"}], lisen=1)
    wait_until(lambda: "lisen" in problems(sidecar).get("reload_failed", ""), 20, "it is listed")
    assert status(sidecar) == 429
    assert sidecar.metric("weir_config_last_reload_successful") == 0
    os.remove(sidecar.config_file)
    wait_until(lambda: "No such file" in problems(sidecar).get("reload_failed", ""), 20, "it is missed")
    assert status(sidecar) == 429
    write_settings(sidecar, routes=[{"quota": "open"}])
    wait_equal(lambda: status(sidecar), 200, "the mended file is in force")
    wait_equal(lambda: problems(sidecar), {}, "nothing is wrong any more")


def test_what_needs_a_restart_waits_and_the_rest_takes_effect(world):
    sidecar = world.fleet(1, QUOTAS, routes=[{"quota": "open"}])[0]
    write_settings(sidecar, routes=[{"quota": "closed"}], workers=2)
    wait_equal(lambda: status(sidecar), 429, "the routes are in force")
    wait_equal(lambda: problems(sidecar), {"restart_needed": "the change of workers takes a restart"},
               "the rest is listed")
    sidecar.stop()
    sidecar.settings["workers"] = 2
    sidecar.start()
    wait_equal(lambda: problems(sidecar), {}, "the restart was what it needed")


def write_config_map(directory, revision, **files):
    """As the kubelet does: a new directory, then ..data swapped by one rename."""
    data = directory / f"..{revision}"
    data.mkdir(parents=True)
    for name, document in files.items():
        (data / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    new = directory / "..data_tmp"
    new.symlink_to(data.name)
    os.replace(new, directory / "..data")
    for name in files:
        link = directory / f"{name}.yaml"
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}.yaml")


def test_a_config_map_with_settings_and_quotas_is_followed_through_its_symlink_swap(world, folder):
    directory = folder / "configmap"
    quotas = {"quotas": [str(directory / "quotas.yaml")]}
    sidecar = world.fleet(1, [], routes=[{"quota": "first"}], settings=quotas, start=False)[0]
    write_config_map(directory, "1", weir=sidecar.config(), quotas=quota_set([quota("first", "1000r/s")]))
    sidecar.start_with(directory / "weir.yaml")
    assert status(sidecar) == 200
    for revision in (2, 3):
        name, rate = f"of-{revision}", "0r/s" if revision == 2 else "1000r/s"
        write_config_map(directory, str(revision),
                         weir={**sidecar.config(), "routes": [{"quota": name}]},
                         quotas=quota_set([quota(name, rate)], generation=revision))
        wait_equal(lambda: status(sidecar), 429 if revision == 2 else 200, "both files are in force")
        wait_equal(lambda: problems(sidecar), {}, "nothing is wrong")
    assert sidecar.metric("weir_config_reloads_total", result="failure") == 0
