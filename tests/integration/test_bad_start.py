"""A sidecar whose quota file is missing or bad starts, says so, and takes the file when it is mended."""

import os
import subprocess

import pytest
import yaml

from harness import http
from harness.paths import program
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota, quota_set

pytestmark = [pytest.mark.smoke]

ROUTES = [{"quota": "all"}]
BAD = "apiVersion: weir/v1\nkind: QuotaSet\nname: test\nquotas: [{name: all, limits: [{rate: many}]}]\n"


def status(sidecar):
    return http.get(sidecar.address, "/x").status


def problems(sidecar):
    return {one["kind"]: one["problem"] for one in sidecar.api("/v1/problems")["problems"]}


def spoil(sidecar, how):
    if how == "missing":
        os.remove(sidecar.quota_file)
    else:
        sidecar.quota_file.write_text(BAD)


@pytest.mark.parametrize("how, words", [("missing", "No such file"), ("bad", "many")])
def test_it_starts_lists_the_problem_and_takes_the_mended_file(world, how, words):
    sidecar = world.fleet(1, [quota("all", "0r/s")], routes=ROUTES, start=False)[0]
    spoil(sidecar, how)
    sidecar.start()
    assert status(sidecar) == 200
    wait_until(lambda: {"reload_failed", "no_quotas"} <= set(problems(sidecar)), 20, "both are listed")
    assert words in problems(sidecar)["reload_failed"]
    assert sidecar.metric("weir_problems", kind="reload_failed") == 1
    assert sidecar.metric("weir_config_last_reload_successful") == 0
    assert "the quota files are not in force" in sidecar.process.log.read_text()
    sidecar.write_quotas([quota("all", "0r/s")])
    wait_equal(lambda: status(sidecar), 429, "the mended file is in force")
    wait_equal(lambda: problems(sidecar), {}, "nothing is wrong any more")
    assert sidecar.metric("weir_config_last_reload_successful") == 1


@pytest.mark.parametrize("how", ["missing", "bad"])
def test_in_a_fleet_it_has_the_quotas_of_its_peers(world, how):
    fleet = world.fleet(2, [quota("all", "0r/s")], routes=ROUTES)
    fleet[1].stop()
    spoil(fleet[1], how)
    fleet[1].start()
    wait_equal(lambda: status(fleet[1]), 429, "the quotas of the fleet are in force")
    wait_until(lambda: set(problems(fleet[1])) == {"reload_failed"}, 20, "the file is a problem")
    assert problems(fleet[0]) == {}


def test_one_bad_file_of_several_keeps_the_others_out_until_it_is_mended(world):
    sidecar = world.fleet(1, [quota("all", "0r/s")], routes=ROUTES, start=False)[0]
    other = sidecar.folder / "other.yaml"
    other.write_text(BAD.replace("test", "other").replace("all", "other"))
    sidecar.settings["quotas"] = [str(sidecar.quota_file), str(other)]
    sidecar.start()
    assert status(sidecar) == 200
    other.write_text(BAD.replace("test", "other").replace("all", "other").replace("many", "1r/s"))
    wait_equal(lambda: status(sidecar), 429, "both are in force")


def test_a_long_file_that_is_bad_does_not_end_it_either(world):
    sidecar = world.fleet(1, [], routes=ROUTES, start=False)[0]
    filler = "".join(f"- {{name: some/{i:050}, limits: [{{rate: 5r/s}}]}}\n" for i in range(60_000))
    assert len(filler) > 4 << 20
    head = "apiVersion: weir/v1\nkind: QuotaSet\nname: test\ngeneration: 1\nquotas:\n"
    sidecar.quota_file.write_text(head + filler + "- {name: all, limits: [{rate: many}]}\n")
    sidecar.start()
    wait_until(lambda: "many" in problems(sidecar).get("reload_failed", ""), 60, "it is listed")
    sidecar.write_quotas([quota("all", "0r/s")])
    wait_equal(lambda: status(sidecar), 429, "the mended file is in force")


@pytest.mark.parametrize("how", ["missing", "bad"])
def test_whoever_asks_is_told_that_the_file_is_an_error(world, how):
    sidecar = world.fleet(1, [quota("all", "0r/s")], routes=ROUTES, start=False)[0]
    sidecar.start()
    sidecar.stop()
    spoil(sidecar, how)
    for command in (["validate"], ["run", "--check"], ["run", "--strict"]):
        done = subprocess.run([program("weir"), *command, "--config", sidecar.config_file],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, command
        assert str(sidecar.quota_file) in done.stderr and "1 error(s)" in done.stderr


@pytest.mark.parametrize("generation", [1, None])
@pytest.mark.parametrize("how", ["missing", "bad"])
def test_with_a_snapshot_it_has_the_quotas_that_were_in_force_last(world, how, generation):
    sidecar = world.fleet(1, [], routes=ROUTES, start=False)[0]

    def write(rate, generation):
        document = quota_set([quota("all", rate)], generation)
        if generation is None:
            del document["generation"]
        sidecar.quota_file.write_text(yaml.safe_dump(document))

    sidecar.settings["snapshot"] = {"file": str(sidecar.folder / "overrides")}
    write("0r/s", generation)
    sidecar.start()
    assert sidecar.stop() == 0
    spoil(sidecar, how)
    for _ in range(2):  # what was kept stays while the file is bad
        sidecar.start()
        assert status(sidecar) == 429
        wait_until(lambda: set(problems(sidecar)) == {"reload_failed"}, 20, "only the file is a problem")
        assert "quota documents that were kept are used" in sidecar.process.log.read_text()
        sidecar.kill()
    sidecar.start()
    write("1000r/s", generation and generation + 1)
    wait_equal(lambda: status(sidecar), 200, "the mended file is in force")
    wait_equal(lambda: problems(sidecar), {}, "nothing is wrong any more")


def test_settings_that_name_no_quotas_are_not_filled_up_from_the_snapshot(world):
    sidecar = world.fleet(1, [quota("all", "0r/s")], routes=ROUTES, start=False)[0]
    sidecar.settings["snapshot"] = {"file": str(sidecar.folder / "overrides")}
    sidecar.start()
    assert status(sidecar) == 429
    assert sidecar.stop() == 0
    sidecar.settings["quotas"] = []
    sidecar.start()
    assert status(sidecar) == 200


def test_a_damaged_file_of_kept_quotas_is_told_and_stops_nothing(world):
    sidecar = world.fleet(1, [quota("all", "0r/s")], routes=ROUTES, start=False)[0]
    sidecar.settings["snapshot"] = {"file": str(sidecar.folder / "overrides")}
    sidecar.start()
    assert sidecar.stop() == 0
    kept = sidecar.folder / "overrides.quotas"
    kept.write_bytes(kept.read_bytes()[:-1])
    spoil(sidecar, "missing")
    sidecar.start()
    assert status(sidecar) == 200
    assert "it is damaged or ends too early" in sidecar.process.log.read_text()
    sidecar.write_quotas([quota("all", "0r/s")], generation=2)
    wait_equal(lambda: status(sidecar), 429, "the mended file is in force")
    assert sidecar.stop() == 0
    spoil(sidecar, "missing")
    sidecar.start()
    assert status(sidecar) == 429
