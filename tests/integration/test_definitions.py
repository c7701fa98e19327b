"""Quotas changed while running: by file, by symlink swap as Kubernetes does it, by the API."""

import json
import os
import time

import pytest

from harness import http
from harness.lateness import on_time
from harness.processes import wait_until
from harness.sidecar import quota, quota_set

import yaml


pytestmark = [pytest.mark.smoke, pytest.mark.races]


def refuses(sidecar, path="/bucket/x"):
    return http.get(sidecar.address, path).status == 429


def seconds_until(fleet, refused, method, address, body=None):
    """From before the edit is sent to when the last sidecar acts by it."""
    before = time.monotonic()
    answer = http.request(address, method, "/v1/quotas/bucket", body, {"Content-Type": "application/json"})
    assert answer.status == 200, answer.body
    for one in fleet:
        wait_until(lambda: refuses(one) == refused, 20, f"{one.name} has the edit {method} {body}", every_s=0.005)
    return time.monotonic() - before


def test_an_edit_at_one_sidecar_is_in_force_at_all_within_a_second(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])
    assert not any(refuses(one) for one in fleet)
    closed = json.dumps(quota("bucket", "0r/s"))

    def edits(_):
        began = time.monotonic_ns()
        lasted = []
        for turn in range(3):
            lasted.append(seconds_until(fleet, True, "PUT", fleet[turn].admin, closed))
            lasted.append(seconds_until(fleet, False, "DELETE", fleet[(turn + 1) % 3].admin))
        print([round(seconds, 3) for seconds in lasted])
        return lasted, (began, time.monotonic_ns())

    def too_late(lasted):
        return [f"in force after {seconds:.2f} s" for seconds in lasted if seconds >= 1]
    _, faults = on_time(edits, too_late, late_s=0.03)
    assert not faults


def test_an_edit_of_the_command_line_is_in_force_at_all(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])
    fleet[1].command("quota", "set", "bucket", "--rate", "0r/s")
    for one in fleet:
        wait_until(lambda: refuses(one), 20, f"{one.name} refuses")
    fleet[2].command("quota", "rm", "bucket")
    for one in fleet:
        wait_until(lambda: not refuses(one), 20, f"{one.name} has the file's limit again")


def test_quota_list_and_get_show_the_effective_value_and_its_origin(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s"), quota("other", "5r/s")])
    listed = fleet[0].command("quota", "list")
    assert "bucket" in listed and "other" in listed
    fleet[0].command("quota", "set", "bucket", "--rate", "77r/s")
    wait_until(lambda: "77" in fleet[2].command("quota", "get", "bucket"), 20, "the edit shows")


@pytest.mark.quick
def test_a_document_of_a_newer_generation_spreads_from_one_sidecar(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])
    fleet[0].write_quotas([quota("bucket", "0r/s")], generation=2)
    fleet[0].reload()
    for one in fleet:
        wait_until(lambda: refuses(one), 20, f"{one.name} refuses")
    # An older generation changes nothing anywhere.
    fleet[1].write_quotas([quota("bucket", "1000r/s")], generation=1)
    fleet[1].reload()
    time.sleep(1)
    assert all(refuses(one) for one in fleet)


def test_a_bad_document_leaves_the_old_one_in_force_and_is_counted(world):
    fleet = world.fleet(1, [quota("bucket", "0r/s")])
    fleet[0].quota_file.write_text("kind: QuotaSet\nquotas: [{name: bucket, limits: [{rate: many}]}]\n")
    fleet[0].reload()
    wait_until(lambda: fleet[0].metric("weir_config_last_reload_successful") == 0, 20,
               "the failed reload shows")
    assert refuses(fleet[0])
    fleet[0].write_quotas([quota("bucket", "1000r/s")], generation=3)
    fleet[0].reload()
    wait_until(lambda: fleet[0].metric("weir_config_last_reload_successful") == 1, 20, "it recovers")
    wait_until(lambda: not refuses(fleet[0]), 20, "the good document is in force")


def write_config_map(directory, revision, quotas, generation):
    """As the kubelet does: a new directory, then ..data swapped by one rename."""
    data = directory / f"..{revision}"
    data.mkdir()
    (data / "quotas.yaml").write_text(yaml.safe_dump(quota_set(quotas, generation)))
    new = directory / "..data_tmp"
    new.symlink_to(data.name)
    os.replace(new, directory / "..data")
    link = directory / "quotas.yaml"
    if not link.is_symlink():
        link.symlink_to("..data/quotas.yaml")


def test_a_config_map_is_followed_through_its_symlink_swap(world, folder):
    directory = folder / "configmap"
    directory.mkdir()
    write_config_map(directory, "first", [quota("bucket", "1000r/s")], 1)
    fleet = world.fleet(1, [], settings={"quotas": [str(directory / "quotas.yaml")]})
    assert not refuses(fleet[0])
    write_config_map(directory, "second", [quota("bucket", "0r/s")], 2)
    wait_until(lambda: refuses(fleet[0]), 30, "the swapped document is in force")
