"""Who changed what, as lines of the log of the sidecar at which it was changed, and peers that come and go."""

import json
import pwd
import os

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


def test_a_level_that_the_file_sets_is_told_also_when_it_shows_less(world):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    for level, before in (("warning", "info"), ("error", "warning"), ("off", "error"), ("info", "off")):
        sidecar.settings["log"] = {**sidecar.config()["log"], "level": level}
        sidecar.config_file.write_text(yaml.safe_dump(sidecar.config()))
        wait_line(sidecar, "log_level", level=level, before=before)
        assert sidecar.api("/v1/status")["log_level"] == level
    for level, before in (("warning", "info"), ("error", "warning"), ("off", "error")):
        http.request(sidecar.admin, "PUT", "/v1/log-level?who=ann", json.dumps({"level": level}),
                     {"Content-Type": "application/json"})
        wait_line(sidecar, "log_level", level=level, before=before, who="ann")


def test_many_changes_of_a_second_are_counted(world):
    sidecar = world.fleet(1, [quota("all", "100r/s")], routes=[{"quota": "all"}])[0]
    for number in range(40):
        http.request(sidecar.admin, "PUT", f"/v1/quotas/q{number}", json.dumps(quota(f"q{number}", "5r/s")),
                     {"Content-Type": "application/json"})

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
