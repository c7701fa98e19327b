"""What a definition may say is the same by every door: file, API, command, gossip."""

import json

import pytest

from harness import http
from harness.sidecar import quota
from harness.processes import wait_until

from test_definition_edits import put, run

pytestmark = pytest.mark.smoke

CONTRADICTIONS = [
    ("refusal.body", {"refusal": {"body": "x" * 2000}, "limits": [{"rate": "0r/s"}]}),
    ("refusal.content_type", {"refusal": {"body": "x", "content_type": "t" * 200}, "limits": []}),
    ("enforce", {"mode": "shadow", "enforce": "25%", "limits": [{"rate": "5r/s"}]}),
    ("enforce_by", {"enforce_by": "header:a b", "limits": [{"rate": "5r/s"}]}),
    ("enforce_by", {"enforce_by": "header:" + "a" * 200, "limits": [{"rate": "5r/s"}]}),
    ("safe", {"when_isolated": "optimistic", "limits": [{"rate": "9r/s", "safe": "1r/s"}]}),
    ("limits[0].low", {"limits": [{"concurrency": 9, "low": "5r"}]}),
    ("limits[1]", {"limits": [{"concurrency": 9}, {"concurrency": 8}]}),
    ("limits[0].low", {"limits": [{"window": "9r/h", "low": "5r"}]}),
    ("limits[0].window", {"limits": [{"window": "9r/7m", "from": "calendar"}]}),
    ("limits[0].from", {"limits": [{"window": "9r/month", "from": "first"}]}),
    ("limits[0].timezone", {"limits": [{"window": "9r/h", "from": "calendar", "timezone": "Mars"}]}),
    ("limits[1]", {"limits": [{"window": "9r/h"}, {"window": "8r/h"}]}),
]


def test_what_a_document_refuses_a_put_and_an_apply_refuse_too(world, folder):
    fleet = world.fleet(2, [quota("good", "5r/s")])
    for field, definition in CONTRADICTIONS:
        answer = put(fleet[0], "bad", definition)
        assert 400 <= answer.status < 500, (field, answer.status)
        assert field in answer.body.decode(), answer.body
        assert http.get(fleet[0].admin, "/v1/quotas/bad").status == 404
        file = folder / "bad.json"
        file.write_text(json.dumps({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "more",
                                    "quotas": [{"name": "bad", **definition}]}))
        applied = run(fleet[0], "quota", "apply", str(file))
        assert applied.returncode != 0 and field in applied.stdout + applied.stderr
    # Nothing of it is on its way: what follows is everywhere, and nobody refused anything.
    assert put(fleet[0], "next", {"limits": [{"rate": "7r/s"}]}).status == 200
    wait_until(lambda: fleet[1].quota("next").get("in_force"), 20, "the good edit at the peer")
    for one in fleet:
        assert one.metric("weir_gossip_definition_events_total", event="refused_entries") == 0
        assert one.metric("weir_gossip_definition_events_total", event="refused_definitions") == 0
        assert http.get(one.admin, "/v1/quotas/bad").status == 404


def test_quota_set_refuses_contradictions(world):
    sidecar = world.fleet(1, [quota("good", "50r/s")])[0]
    for field, edit in {"enforce": ["--mode", "shadow", "--enforce", "25%"],
                        "enforce_by": ["--enforce-by", "header:a b"],
                        "concurrency": ["--concurrency", "10000001"],
                        "window": ["--window", "9r/7m", "--from", "calendar"],
                        "timezone": ["--window", "9r/h", "--from", "calendar", "--timezone", "Mars"],
                        "safe": ["--safe", "10r/s", "--when-isolated", "optimistic"]}.items():
        done = run(sidecar, "quota", "set", "good", *edit)
        assert done.returncode == 1 and field in done.stderr, (edit, done)
    assert sidecar.quota("good")["source"].startswith("file")


def test_more_different_periods_than_fit_a_byte_are_all_enforced(world):
    """300 by file, 300 by the API at the other sidecar, and one quota edited 300 times."""
    fleet = world.fleet(2, [quota(f"m{i}", f"1r/{i + 60}s") for i in range(1, 301)]
                        + [quota("edited", "1r/1000s")])
    for i in range(301, 601):
        assert put(fleet[1], f"m{i}", {"limits": [{"rate": f"1r/{i + 60}s"}]}).status == 200
    for i in range(300):
        assert put(fleet[1], "edited", {"limits": [{"rate": f"1r/{i + 1001}s"}]}).status == 200
    last = "1r/1300s"
    for one in fleet:
        wait_until(lambda: one.metric("weir_quotas") == 601, 20, f"{one.name} has all")
        wait_until(lambda: one.quota("edited")["definition"]["limits"][0]["rate"] == last, 20,
                   f"{one.name} has the last edit")
    # Each name at one of the two, so that only its own bucket decides.
    for i in list(range(1, 601, 7)) + [300, 600]:
        statuses = [http.get(fleet[i % 2].address, f"/m{i}/x").status for _ in range(2)]
        assert statuses == [200, 429], (i, statuses)
    assert [http.get(fleet[0].address, "/edited/x").status for _ in range(2)] == [200, 429]
