"""Edits of quotas by several people at once, their history, documents applied, sets in conflict."""

import json
import subprocess
import threading

from harness import http
from harness.paths import program
from harness.processes import wait_equal, wait_until
from harness.sidecar import quota, quota_set

import pytest
import yaml

pytestmark = pytest.mark.smoke


def run(sidecar, *arguments):
    """`weir <arguments>` with its exit code."""
    return subprocess.run([program("weir"), *arguments, "--admin", sidecar.admin],
                          capture_output=True, text=True, timeout=30)


def put(sidecar, name, definition, **headers):
    return http.request(sidecar.admin, "PUT", f"/v1/quotas/{name}", body=json.dumps(definition),
                        headers={"Content-Type": "application/json", **headers})


def limits(rate):
    return {"limits": [{"rate": rate}]}


def together(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def same_everywhere(fleet, name):
    return len({json.dumps(one.quota(name).get("definition")) for one in fleet}) == 1


def test_the_next_request_is_judged_by_an_edit(world):
    sidecar = world.fleet(1, [quota("bucket", "1000r/s")], settings={"workers": 2})[0]
    for rate, status in [("0r/s", 429), ("1000r/s", 200)] * 10:
        assert put(sidecar, "bucket", {"name": "bucket", **limits(rate)}).status == 200
        assert http.get(sidecar.address, "/bucket/x").status == status
    assert http.request(sidecar.admin, "DELETE", "/v1/quotas/bucket").status == 200
    assert put(sidecar, "new", {"name": "new", **limits("0r/s")}).status == 200
    assert http.get(sidecar.address, "/new/x").status == 429
    both = {"quotas": [{"definition": {"name": name, **limits("0r/s")}} for name in ("more", "other")]}
    assert http.request(sidecar.admin, "POST", "/v1/quotas", body=json.dumps(both),
                        headers={"Content-Type": "application/json"}).status == 200
    assert [http.get(sidecar.address, f"/{name}/x").status for name in ("more", "other")] == [429, 429]


def test_two_edits_of_one_quota_at_one_sidecar_lose_neither(world):
    fleet = world.fleet(1, [quota("bucket", "1000r/s")])
    done = []
    for turn in range(5):
        edits = [["--rate", f"{turn + 7}r/s"], ["--mode", "shadow" if turn % 2 else "off"],
                 ["--low", f"{turn + 5}r"], ["--high", f"{turn + 2000}r"]]
        together(*[lambda edit=edit: done.append(run(fleet[0], "quota", "set", "bucket", *edit))
                   for edit in edits])
        assert all(one.returncode == 0 for one in done), [one.stderr for one in done]
        definition = fleet[0].quota("bucket")["definition"]
        limit = definition["limits"][0]
        assert limit["rate"] == f"{turn + 7}r/s"
        assert definition["mode"] == ("shadow" if turn % 2 else "off")
        assert limit["low"] == f"{turn + 5}r" and limit["high"] == f"{turn + 2000}r"


def test_a_change_against_an_outdated_tag_is_refused_with_412(world):
    fleet = world.fleet(1, [quota("bucket", "1000r/s")])
    tag = http.get(fleet[0].admin, "/v1/quotas/bucket").headers["etag"]
    first = put(fleet[0], "bucket", limits("10r/s"), **{"If-Match": tag})
    assert first.status == 200 and first.headers["etag"] != tag
    late = put(fleet[0], "bucket", limits("20r/s"), **{"If-Match": tag})
    assert late.status == 412 and late.headers["etag"] == first.headers["etag"]
    assert put(fleet[0], "bucket", limits("30r/s"), **{"If-None-Match": "*"}).status == 412
    assert put(fleet[0], "fresh", limits("30r/s"), **{"If-None-Match": "*"}).status == 200
    assert put(fleet[0], "bucket", limits("30r/s"), **{"If-Match": "W/" + tag}).status == 400
    assert fleet[0].quota("bucket")["definition"]["limits"][0]["rate"] == "10r/s"
    assert fleet[0].metric("weir_gossip_definition_events_total", event="edits_outdated") == 2


def test_of_edits_at_two_sidecars_at_once_one_wins_and_both_are_in_every_history(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])
    for turn in range(3):
        name = f"bucket-{turn}"
        together(lambda: put(fleet[0], name + "?who=ann&why=left", limits("11r/s")),
                 lambda: put(fleet[1], name + "?who=bob&why=right", limits("22r/s")))
        wait_until(lambda: same_everywhere(fleet, name), 20, "all say the same")

        def both(one):
            text = one.command("quota", "get", name, "--history")
            return "ann" in text and "bob" in text
        for one in fleet:
            wait_until(lambda: both(one), 20, f"{one.name} shows winner and loser")


def test_history_tells_who_changed_what_and_outlives_the_override(world):
    fleet = world.fleet(1, [quota("other", "5r/s")])
    sidecar = fleet[0]
    sidecar.command("quota", "set", "bucket", "--rate", "10r/s", "--who", "ann", "--why", "first")
    sidecar.command("quota", "set", "bucket", "--rate", "20r/s", "--who", "bob", "--why", "more",
                    "--expires", "2h")
    sidecar.command("quota", "rm", "bucket", "--who", "cid")
    text = sidecar.command("quota", "get", "bucket", "--history")
    assert "no such quota now" in text
    assert "cid" in text and "removed" in text
    assert "~ limits[0].rate: 10r/s -> 20r/s" in text and "for 7200s" in text
    # A deleted and re-made name: a newer change like any other.
    sidecar.command("quota", "set", "bucket", "--rate", "30r/s", "--who", "dee")
    history = sidecar.api("/v1/quotas/bucket?history=true")["history"]
    assert [row["who"] for row in history] == ["dee", "cid", "bob", "ann"]
    assert [row["state"] for row in history] == ["current", "replaced", "replaced", "replaced"]
    assert [row["kind"] for row in history] == ["set", "removed", "set", "set"]


def test_apply_shows_what_differs_and_changes_only_that(world, folder):
    fleet = world.fleet(2, [quota("s3", "1000r/s"), quota("s3/a", "10r/s", parent="s3")])
    file = folder / "sale.yaml"
    file.write_text(yaml.safe_dump(quota_set(
        [quota("s3/b/c", "5r/s", parent="s3/b"), quota("s3/b", "50r/s", parent="s3"),
         quota("s3/a", "20r/s", parent="s3"), quota("s3", "1000r/s")], name="sale")))
    dry = run(fleet[0], "quota", "apply", "--dry-run", "--detailed-exitcode", str(file))
    assert dry.returncode == 2, dry.stderr
    assert "~ limits[0].rate: 10r/s -> 20r/s" in dry.stdout
    assert "+ s3/b" in dry.stdout and "2 added, 1 changed, 1 unchanged" in dry.stdout
    assert fleet[0].quota("s3/a")["definition"]["limits"][0]["rate"] == "10r/s"
    assert run(fleet[0], "quota", "apply", "--dry-run", str(file)).returncode == 0

    done = run(fleet[0], "quota", "apply", str(file), "--who", "ann", "--why", "sale",
               "--expires", "2d", "--detailed-exitcode")
    assert done.returncode == 2, done.stderr
    again = run(fleet[0], "quota", "apply", str(file), "--detailed-exitcode")
    assert again.returncode == 0 and "0 added, 0 changed, 4 unchanged" in again.stdout
    wait_until(lambda: "s3/b/c" in fleet[1].command("quota", "list"), 20, "it is everywhere")
    row = fleet[1].quota("s3/a")
    assert row["who"] == "ann" and row["why"] == "sale" and 170_000 < row["expires_in_seconds"]

    file.write_text("apiVersion: weir/v1\nkind: QuotaSet\nname: x\n"
                    "quotas: [{name: a, limits: [{rate: many}]}, {name: b, mode: bad}]\n")
    bad = run(fleet[0], "quota", "apply", str(file), "--detailed-exitcode")
    assert bad.returncode == 1 and "sale.yaml:4:" in bad.stderr and "quotas[1].mode" in bad.stderr


def test_a_set_with_other_content_of_one_generation_is_shown_logged_and_alarmed(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])
    fleet[1].write_quotas([quota("bucket", "7r/s")])  # the same generation
    fleet[1].reload()
    wait_until(lambda: fleet[1].metric("weir_quota_set_conflict", set="test") == 1, 20, "the alarm")
    wait_until(lambda: fleet[1].metric("weir_config_last_reload_successful") == 0, 20, "the failure")
    assert "CONFLICT" in fleet[1].command("status")
    assert "other content" in fleet[1].command("quota", "list")
    assert "other content" in fleet[1].process.log.read_text()
    assert fleet[1].quota("bucket")["definition"]["limits"][0]["rate"] == "1000r/s"
    # Started with other content: both sides show it, each holds to its own.
    fleet[2].stop()
    fleet[2].write_quotas([quota("bucket", "8r/s")])
    fleet[2].start()
    for one in (fleet[0], fleet[2]):
        wait_until(lambda: one.metric("weir_quota_set_conflict", set="test") == 1, 30,
                   f"{one.name} shows the conflict")
        wait_until(lambda: "other content elsewhere" in one.process.log.read_text(), 20, "the log")
    # A new generation ends it everywhere.
    fleet[0].write_quotas([quota("bucket", "9r/s")], generation=2)
    fleet[0].reload()
    for one in fleet:
        wait_until(lambda: one.metric("weir_quota_set_conflict", set="test") == 0, 20, "it is over")
        wait_equal(lambda: one.quota("bucket")["definition"]["limits"][0]["rate"], "9r/s", "the new one holds")


def test_a_file_rolled_back_changes_nothing_and_is_shown(world):
    fleet = world.fleet(2, [quota("bucket", "1000r/s")])
    fleet[0].write_quotas([quota("bucket", "5r/s")], generation=3)
    fleet[0].reload()
    wait_until(lambda: fleet[1].quota("bucket")["source"] == "file test#3", 20, "it spreads")
    fleet[1].write_quotas([quota("bucket", "1000r/s")], generation=2)
    fleet[1].reload()
    wait_until(lambda: "OTHER FILE" in fleet[1].command("status"), 20, "the status shows it")
    assert "generation 3 of test is in force, this is 2" in fleet[1].command("quota", "list")
    wait_equal(lambda: fleet[1].metric("weir_config_last_reload_successful"), 0, "it is no success")
    for one in fleet:
        assert one.quota("bucket")["source"] == "file test#3"
    fleet[1].write_quotas([quota("bucket", "5r/s")], generation=3)
    wait_equal(lambda: fleet[1].metric("weir_config_last_reload_successful"), 1, "the fleet's file is")


def test_peers_show_which_definitions_each_has(world):
    fleet = world.fleet(3, [quota("bucket", "1000r/s")])

    def peers(one):
        return [row for row in one.api("/v1/peers")["peers"] if row["state"] == "alive"]
    wait_until(lambda: all(row["definitions"] and row["definitions"]["same"]
                           for one in fleet for row in peers(one)), 30, "all say the same")
    assert peers(fleet[0])[0]["definitions"]["quota_sets"][0]["generation"] == 1
    assert "same" in fleet[0].command("status")
