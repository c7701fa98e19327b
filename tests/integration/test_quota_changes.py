"""Changes by the command line on a live pair: expiries, dry runs, documents that are applied whole."""

import json
import subprocess
import time

import pytest
import yaml

from harness import http
from harness.paths import program
from harness.processes import wait_until
from harness.sidecar import quota, quota_set
from test_definition_edits import run

pytestmark = pytest.mark.smoke


def seconds_left(sidecar, name):
    return sidecar.quota(name).get("expires_in_seconds")


def refused(sidecar, path, count):
    return sum(http.get(sidecar.address, path).status == 429 for _ in range(count))


def agree(fleet):
    """Whether each says of every other one that its definitions are the same."""
    rows = [row for one in fleet for row in one.api("/v1/peers")["peers"] if row["state"] == "alive"]
    return all(row["definitions"] and row["definitions"]["same"] for row in rows)


def picture(sidecar):
    """All that a change could have changed."""
    return json.dumps([{key: value for key, value in row.items() if key != "expires_in_seconds"}
                       for row in sidecar.api("/v1/quotas")["quotas"]])


@pytest.mark.slow
def test_an_edit_keeps_the_expiry_and_the_expiry_ends_it_in_the_whole_fleet(world):
    fleet = world.fleet(2, [quota("bucket", "1000r/s")])
    fleet[0].command("quota", "set", "bucket", "--rate", "0r/s", "--expires", "1h")
    for one in fleet:
        wait_until(lambda: refused(one, "/bucket/x", 1) == 1, 20, "it refuses")
    shown = fleet[0].command("quota", "set", "bucket", "--headers", "hidden")
    before, after = shown.splitlines()[1:3]
    assert "expires in" in before and "expires in" in after and "headers hidden" in after
    assert 3000 < seconds_left(fleet[0], "bucket") <= 3600
    wait_until(lambda: fleet[1].quota("bucket")["definition"].get("headers") == "hidden", 20, "spread")
    assert 3000 < seconds_left(fleet[1], "bucket") <= 3600
    wait_until(lambda: agree(fleet), 20, "both hold the very same")
    assert "expires   in" in fleet[1].command("quota", "get", "bucket")
    assert "EXPIRES" in fleet[1].command("quota", "list")
    made = time.monotonic()
    fleet[0].command("quota", "set", "bucket", "--expires", "5s")
    for one in fleet:
        wait_until(lambda: refused(one, "/bucket/x", 1) == 0, 30, "the file's quota holds again")
        assert one.quota("bucket")["source"] == "file test#1"
    assert time.monotonic() - made > 4


def test_an_expiry_is_changed_when_it_is_named_and_never_is_for_good(world):
    sidecar = world.fleet(1, [quota("bucket", "1000r/s")])[0]
    sidecar.command("quota", "set", "bucket", "--rate", "5r/s", "--expires", "1h")
    sidecar.command("quota", "set", "bucket", "--expires", "3h")
    assert 7200 < seconds_left(sidecar, "bucket") <= 10800
    shown = sidecar.command("quota", "set", "bucket", "--expires", "never")
    assert "expires" not in shown.splitlines()[2]
    assert seconds_left(sidecar, "bucket") is None
    assert sidecar.quota("bucket")["definition"]["limits"][0]["rate"] == "5r/s"
    sidecar.command("quota", "rm", "bucket")
    nothing = run(sidecar, "quota", "set", "bucket", "--expires", "1h")
    assert nothing.returncode == 1 and "no change by the API" in nothing.stderr
    wrong = run(sidecar, "quota", "rm", "bucket", "--expires", "5s")
    assert wrong.returncode == 2 and "a removal does not end by itself" in wrong.stderr


def test_everything_that_is_set_is_shown_in_text(world):
    full = quota("bucket", {"rate": "10r/s", "safe": "2r/s"}, enforce="25%",
                 enforce_by="header:x-client", headers=["hidden", "ietf"], max_children=9,
                 refusal={"status": 503, "body": "later"})
    sidecar = world.fleet(1, [full, quota("other", "1r/s", when_isolated="optimistic")])[0]
    wanted = ["safe=2r/s", "enforce 25% by header:x-client", "headers hidden ietf", "max_children 9",
              "refusal status 503 body 'later'"]
    for text in (sidecar.command("quota", "get", "bucket"), sidecar.command("quota", "list"),
                 sidecar.command("quota", "set", "bucket", "--rate", "7r/s")):
        assert all(one in text for one in wanted), text
    assert "when_isolated optimistic" in sidecar.command("quota", "get", "other")


@pytest.mark.parametrize("flags, reason, code", [
    (["--parent", "nobody"], "nobody", 1), (["--parent", "leaf"], "ancestor", 1),
    (["--low", "5r", "--high", "3r"], "high", 1), (["--expires", "400d"], "at most 366d", 2)])
def test_a_dry_run_of_set_fails_as_the_real_one_does(world, flags, reason, code):
    sidecar = world.fleet(1, [quota("root", "10r/s"), quota("leaf", "5r/s", parent="root")])[0]
    before = picture(sidecar)
    done = [run(sidecar, "quota", "set", "root", "--rate", "6r/s", *flags, *more)
            for more in (["--dry-run"], [])]
    assert [one.returncode for one in done] == [code, code]
    assert done[0].stderr == done[1].stderr and reason in done[0].stderr
    assert picture(sidecar) == before
    good = sidecar.command("quota", "set", "root", "--rate", "6r/s", "--expires", "2h", "--dry-run")
    assert "after   6r/s, expires in 2h" in good and "nothing changed" in good
    assert picture(sidecar) == before


def test_a_dry_run_of_rm_shows_what_would_hold_and_fails_as_the_real_one_does(world):
    sidecar = world.fleet(1, [quota("root", "10r/s"), quota("s3/b", "5r/s", parent="root")])[0]
    nothing = [run(sidecar, "quota", "rm", "root", *more) for more in (["--dry-run"], [])]
    assert [one.returncode for one in nothing] == [1, 1]
    assert nothing[0].stderr == nothing[1].stderr and "no override of root" in nothing[0].stderr
    sidecar.command("quota", "set", "s3/b", "--rate", "7r/s", "--expires", "2h")
    sidecar.command("quota", "set", "mid", "--rate", "9r/s")
    sidecar.command("quota", "set", "leaf", "--rate", "1r/s", "--parent", "mid")
    before = picture(sidecar)
    tried = sidecar.command("quota", "rm", "s3/b", "--dry-run", "--who", "ann", "--why", "look first")
    name, shown, *after = tried.splitlines()
    assert name == "s3/b" and shown.startswith("  before  7r/s, parent root, expires in ")
    assert after == ["  after   5r/s, parent root", "  (nothing changed: --dry-run)"]
    assert "after   (none)" in sidecar.command("quota", "rm", "leaf", "--dry-run")
    answer = json.loads(sidecar.command("quota", "rm", "s3/b", "--dry-run", "-o", "json"))
    assert answer["dry_run"] is True and answer["definition"]["limits"][0]["rate"] == "5r/s"
    # Others depend on it.
    parent = [run(sidecar, "quota", "rm", "mid", *more) for more in (["--dry-run"], [])]
    assert [one.returncode for one in parent] == [1, 1]
    assert parent[0].stderr == parent[1].stderr and "leaf" in parent[0].stderr
    assert picture(sidecar) == before
    assert "now     5r/s, parent root" in sidecar.command("quota", "rm", "s3/b")


@pytest.mark.quick
def test_apply_does_all_or_nothing_and_says_so(world, folder):
    fleet = world.fleet(2, [quota("s3", "1000r/s")])
    file = folder / "new.yaml"
    file.write_text(yaml.safe_dump(quota_set(
        [quota("n1", "5r/s"), quota("n2", "5r/s", parent="nobody"), quota("n3", "5r/s")], name="new")))
    before = picture(fleet[0])
    for more in (["--dry-run"], []):
        done = run(fleet[0], "quota", "apply", str(file), "--detailed-exitcode", *more)
        assert done.returncode == 1 and "n2: parent" in done.stderr, done.stderr
        answer = run(fleet[0], "quota", "apply", str(file), "-o", "json", *more)
        said = json.loads(answer.stdout)
        assert answer.returncode == 1 and said["done"] is False and said["quotas"] == []
        assert said["errors"][0]["quota"] == "n2"
        assert picture(fleet[0]) == before
    # The same document with its parent in it, behind its child.
    file.write_text(yaml.safe_dump(quota_set(
        [quota("n1", "5r/s"), quota("n2", "5r/s", parent="nobody"), quota("nobody", "5r/s")],
        name="new")))
    dry = run(fleet[0], "quota", "apply", str(file), "--dry-run", "--detailed-exitcode")
    assert dry.returncode == 2 and "3 added" in dry.stdout and picture(fleet[0]) == before
    done = run(fleet[0], "quota", "apply", str(file), "-o", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["done"] is True and said["added"] == 3
    wait_until(lambda: "n2" in fleet[1].command("quota", "list"), 20, "it is everywhere")


def test_another_expiry_alone_is_a_change_of_apply(world, folder):
    sidecar = world.fleet(1, [quota("s3", "1000r/s")])[0]
    file = folder / "sale.yaml"
    file.write_text(yaml.safe_dump(quota_set([quota("s3", "5r/s")], name="sale")))
    sidecar.command("quota", "apply", str(file), "--expires", "1h")
    assert "1 unchanged" in sidecar.command("quota", "apply", str(file))
    longer = run(sidecar, "quota", "apply", str(file), "--expires", "2d", "--detailed-exitcode")
    assert longer.returncode == 2 and "1 changed" in longer.stdout and "-> 2d" in longer.stdout
    assert seconds_left(sidecar, "s3") > 100_000
    # Other content keeps it.
    file.write_text(yaml.safe_dump(quota_set([quota("s3", "6r/s")], name="sale")))
    sidecar.command("quota", "apply", str(file))
    assert seconds_left(sidecar, "s3") > 100_000
    assert "- expires in" in sidecar.command("quota", "apply", str(file), "--expires", "never")
    assert seconds_left(sidecar, "s3") is None


def test_a_conflict_ends_when_the_file_is_put_right_or_deleted(world):
    fleet = world.fleet(2, [quota("bucket", "1000r/s")])

    def conflict():
        return fleet[1].metric("weir_quota_set_conflict", set="test")
    fleet[1].write_quotas([quota("bucket", "7r/s")])
    fleet[1].reload()
    wait_until(lambda: conflict() == 1, 20, "the alarm")
    fleet[1].write_quotas([quota("bucket", "1000r/s")])
    fleet[1].reload()
    wait_until(lambda: conflict() == 0, 20, "its end")
    wait_until(lambda: fleet[1].metric("weir_config_last_reload_successful") == 1, 20, "success")
    assert "CONFLICT" not in fleet[1].command("status")
    assert "other content" not in fleet[1].command("quota", "list")


def test_a_conflict_with_a_peer_ends_with_its_restart_on_the_right_file(world):
    fleet = world.fleet(2, [quota("bucket", "1000r/s")])

    def restart(rate):
        fleet[1].stop()
        fleet[1].write_quotas([quota("bucket", rate)])
        fleet[1].start()

    def conflicts():
        return [one.metric("weir_quota_set_conflict", set="test") for one in fleet]
    restart("8r/s")
    wait_until(lambda: conflicts() == [1, 1], 30, "both show it")
    restart("1000r/s")
    wait_until(lambda: conflicts() == [0, 0], 30, "both show its end")


def test_a_hidden_quota_that_is_set_again_is_what_its_file_says_but_for_what_is_named(world):
    sidecar = world.fleet(1, [quota("root", "5r/m"),
                              quota("bucket", "1000r/s", parent="root", max_children=4)])[0]
    sidecar.command("quota", "set", "bucket", "--absent")
    shown = sidecar.command("quota", "set", "bucket", "--rate", "70r/s")
    assert "before  (hidden)" in shown and "after   70r/s, parent root, max_children 4" in shown
    # Beneath the root again: its five a minute are soon used up.
    wait_until(lambda: refused(sidecar, "/bucket/x", 1) == 1, 20, "the root refuses")


def test_names_that_begin_with_a_dash(world):
    sidecar = world.fleet(1, [quota("bucket", "1000r/s")])[0]
    admin = ["--admin", sidecar.admin]

    done = run(sidecar, "quota", "set", "--rate", "5r/s", *admin, "--", "-odd")
    assert done.returncode == 2 and "ends the flags" in done.stderr  # of --admin behind the name

    def plain(*arguments):
        return subprocess.run([program("weir"), *arguments], capture_output=True, text=True, timeout=30)
    assert plain("quota", "set", "--rate", "5r/s", *admin, "--", "-odd").returncode == 0
    assert "5r/s" in plain("quota", "get", *admin, "--", "-odd").stdout
    assert "-odd" in plain("quota", "list", *admin, "--", "-o").stdout
    assert plain("quota", "rm", *admin, "--", "-odd").returncode == 0


@pytest.mark.parametrize("count, name, reason", [
    (1001, "s3/{number}", "1001 quotas differ, and one change sets at most 1000"),
    (990, "s3/" + "n" * 500 + "{number}", "bytes, and one change at most 1 MiB"),
], ids=["count", "bytes"])
def test_what_is_too_much_for_one_change_is_refused_with_what_to_do(world, folder, count, name, reason):
    parent = "p" * 500
    sidecar = world.fleet(1, [quota("bucket", "5r/s"), quota(parent, "5r/s")])[0]
    before = picture(sidecar)
    file = folder / "large.json"
    file.write_text(json.dumps(quota_set(
        [quota(name.format(number=number), "5r/s", parent=parent) for number in range(count)])))
    # It asks for a thousand quotas first.
    done = subprocess.run([program("weir"), "quota", "apply", str(file), "--admin", sidecar.admin],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert reason in done.stderr and "file of a set" in done.stderr
    assert "nothing was changed" in done.stderr
    assert picture(sidecar) == before
