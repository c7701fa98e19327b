"""Who changed what, as lines of the log of the sidecar at which it was changed, and peers that come and go."""

import json
import pwd
import os
import secrets

import pytest
import yaml

from harness import http
from harness.processes import wait_until
from harness.sidecar import quota

pytestmark = [pytest.mark.smoke]


def audited(sidecar, kind):
    rows = [json.loads(line) for line in sidecar.process.log.read_text().splitlines() if line.startswith("{")]
    return [row for row in rows if row.get("audit") == kind]


def wait_line(sidecar, kind, **fields):
    def found():
        return [row for row in audited(sidecar, kind) if fields.items() <= row.items()]
    return wait_until(found, 20, f"{kind} {fields}: {audited(sidecar, kind)}")[0]


def test_changes_are_told_with_who_and_why(world, monkeypatch):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    monkeypatch.setenv("USER", "somebody-else")
    me = pwd.getpwuid(os.getuid()).pw_name
    sidecar.command("quota", "set", "all", "--rate", "7r/s", "--why", "a sale")
    wait_line(sidecar, "quota", quota="all", who=me, why="a sale", message="a quota was set by the API")
    sidecar.command("quota", "set", "all", "--rate", "8r/s", "--dry-run")
    sidecar.command("quota", "rm", "all", "--who", "ann")
    wait_line(sidecar, "quota", quota="all", who="ann", message="an override of the API was removed")
    assert len(audited(sidecar, "quota")) == 2
    sidecar.write_quotas([quota("all", "9r/s")], generation=2)
    wait_line(sidecar, "set", set="test", generation="2", before="1")
    asked = http.request(sidecar.admin, "PUT", "/v1/log-level?who=bob&why=noise", json.dumps({"level": "error"}),
                         {"Content-Type": "application/json"})
    assert asked.status == 200
    wait_line(sidecar, "log_level", level="error", before="info", who="bob", why="noise")
    http.request(sidecar.admin, "PUT", "/v1/log-level", json.dumps({"level": "info"}),
                 {"Content-Type": "application/json"})
    sidecar.command("drain")
    wait_line(sidecar, "drain", who=me)


def test_an_override_that_expires_is_told_at_every_sidecar(world):
    fleet = world.fleet(2, [quota("all", "100r/s")], routes=[{"quota": "all"}])
    fleet[0].command("quota", "set", "all", "--rate", "7r/s", "--expires", "3s", "--who", "ann", "--why", "a test")
    for sidecar in fleet:
        wait_line(sidecar, "quota", quota="all", who="ann", why="a test", message="an override of the API expired")
    wait_line(fleet[0], "quota", message="a quota was set by the API")
    assert not [row for row in audited(fleet[1], "quota") if row["message"] == "a quota was set by the API"]


def test_new_keys_are_told_whether_the_file_was_noticed_or_a_signal_came(world, tmp_path):
    key_file = tmp_path / "gossip.key"
    key_file.touch(0o600)
    key_file.write_text(secrets.token_hex(32) + "\n")
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}], start=False)[0]
    sidecar.cluster = {**(sidecar.cluster or {}), "key_file": str(key_file)}
    sidecar.start()
    assert audited(sidecar, "keys") == []
    key_file.write_text(secrets.token_hex(32) + "\n" + key_file.read_text())
    first = wait_line(sidecar, "keys", who=f"file {key_file}", why="the key file was changed")
    assert len(first["keys"].split(",")) == 2
    sidecar.reload()  # nothing has changed since
    key_file.write_text(secrets.token_hex(32) + "\n")
    sidecar.reload()
    wait_until(lambda: len(audited(sidecar, "keys")[-1]["keys"].split(",")) == 1, 20, "the new key is told")
    assert len(audited(sidecar, "keys")) == 2


def test_a_drain_because_of_a_signal_names_the_signal(world):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    sidecar.stop()
    assert [row["who"] for row in audited(sidecar, "drain")] == ["signal SIGTERM"]


def test_a_level_that_the_file_sets_is_told_also_when_it_shows_less(world):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    for level, before in (("warning", "info"), ("error", "warning"), ("off", "error"), ("info", "off")):
        sidecar.settings["log"] = {**sidecar.config()["log"], "level": level}
        sidecar.config_file.write_text(yaml.safe_dump(sidecar.config()))
        wait_line(sidecar, "log_level", level=level, before=before, who="the settings' file")
        assert sidecar.api("/v1/status")["log_level"] == level
    for level, before in (("warning", "info"), ("error", "warning"), ("off", "error")):
        http.request(sidecar.admin, "PUT", "/v1/log-level?who=ann", json.dumps({"level": level}),
                     {"Content-Type": "application/json"})
        wait_line(sidecar, "log_level", level=level, before=before, who="ann")


def test_many_changes_of_a_second_are_counted(world):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    wanted = [{"definition": quota(f"q{number}", "5r/s")} for number in range(40)]
    answer = http.request(sidecar.admin, "POST", "/v1/quotas", json.dumps({"quotas": wanted}),
                          {"Content-Type": "application/json"})
    assert answer.status == 200, answer.text

    def all_told():
        rows = audited(sidecar, "quota")
        return sum(int(row.get("changes", 1)) for row in rows) == 40
    wait_until(all_told, 20, "lines and counts together are all changes")
    assert len(audited(sidecar, "quota")) < 40


def test_peers_that_join_leave_die_and_return_are_told(world):
    fleet = world.fleet(2, [quota("all", "100r/s")], routes=[{"quota": "all"}])
    one, other = fleet
    wait_line(one, "peer", peer=other.gossip, message="a peer joined")
    other.stop()
    wait_line(one, "peer", peer=other.gossip, message="a peer left")
    other.start()
    wait_line(one, "peer", peer=other.gossip, message="a peer returned")
    other.kill()
    wait_line(one, "peer", peer=other.gossip, message="a peer died")
