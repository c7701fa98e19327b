"""Problems of real sidecars are shown alike in all five places, begin and end, and stop no start."""

import json
import secrets
import socket

import pytest
import yaml

from harness import http
from harness.ports import free_port
from harness.processes import wait_until
from harness.sidecar import quota, quota_set


def listed(sidecar):
    return {(one["kind"], one["subject"]): one for one in sidecar.api("/v1/problems")["problems"]}


def kinds(sidecar):
    return [one["kind"] for one in sidecar.api("/v1/problems")["problems"]]


def wait_kind(sidecar, kind, count=1, timeout_s=20):
    wait_until(lambda: kinds(sidecar).count(kind) == count, timeout_s, f"{count} of {kind}: {kinds(sidecar)}")
    return next((one for (have, _), one in listed(sidecar).items() if have == kind), None)


def log_lines(sidecar):
    """The lines of the log that are JSON."""
    rows = []
    for line in sidecar.process.log.read_text().splitlines():
        if line.startswith("{"):
            rows.append(json.loads(line))
    return rows


def told(sidecar, beginning, kind=None):
    return [row for row in log_lines(sidecar)
            if any(isinstance(value, str) and value.startswith(beginning) for value in row.values())
            and (kind is None or row.get("kind") == kind)]


def started(world, quotas=(), routes=None, settings=None, cluster=None):
    sidecar = world.fleet(1, list(quotas), routes=routes, settings=settings, start=False)[0]
    sidecar.cluster = cluster
    return sidecar.start()


def seen_alike(sidecar, kind):
    """The problem's text, after all five places have been compared."""
    one = wait_kind(sidecar, kind)
    assert sidecar.metric("weir_problems", kind=kind) == 1
    line = f"{kind}: {one['problem']} - {one['suggestion']}"
    assert f"[!]{line}\n" in http.get(sidecar.status, "/readyz?verbose").text
    assert line in sidecar.command("status").split("PROBLEMS\n")[1]
    assert len(told(sidecar, "problem: " + one["problem"], kind)) == 1
    return one["problem"]


@pytest.mark.smoke
def test_a_route_whose_quota_exists_nowhere_is_shown_in_all_places_until_it_is_there(world):
    routes = [{"quota": "al"}, {"match": {"path": "/x"}, "quota": "all"}]
    sidecar = started(world, [quota("all", "100r/s")], routes)
    text = seen_alike(sidecar, "unknown_quota")
    assert text.startswith("routes[0]: there is no quota 'al'")
    assert wait_kind(sidecar, "unknown_quota")["suggestion"] == "did you mean 'all'?"
    assert seen_alike(sidecar, "hidden_route").startswith("routes[1] gets no request")
    assert http.get(sidecar.status, "/readyz").status == 200
    labels = [have["kind"] for name, have, _ in sidecar.metrics() if name == "weir_problems"]
    assert labels == sorted(set(labels), key=labels.index)
    assert set(labels) == set(sidecar.api("/v1/problems")["counts"]) and len(labels) == 19
    sidecar.write_quotas([quota("all", "100r/s"), quota("al", "1r/s")], generation=2)
    wait_kind(sidecar, "unknown_quota", 0)
    wait_until(lambda: told(sidecar, "problem is over: routes[0]", "unknown_quota"), 10, "the log says so")


def test_a_route_without_quota_is_found_among_many_quotas(world):
    """Names are looked at in parts, so the sidecar needs more than one look."""
    many = [quota(f"q{number:05d}", "100r/s") for number in range(25_000)]
    sidecar = started(world, many, [{"quota": "q12000x"}, {"quota": "q24999"}])
    assert "there is no quota 'q12000x'" in seen_alike(sidecar, "unknown_quota")
    sidecar.write_quotas([*many, quota("q12000x", "1r/s")], generation=2)
    wait_until(lambda: kinds(sidecar) == ["hidden_route"], 20, "the quota is found")


def test_what_is_limited_is_said_at_the_start(world):
    routes = [{"quota": "all"}]
    sidecar = started(world, [quota("all", "100r/s")], routes)
    wait_until(lambda: told(sidecar, "1 route, 1 quota, peers: none configured"), 10, "it is said")
    assert kinds(sidecar) == []
    assert "PROBLEMS" not in sidecar.command("status")
    assert http.get(sidecar.status, "/readyz?verbose").text.endswith("serving ok\nreadyz check passed\n")


@pytest.mark.parametrize("quotas, routes, kind, reason", [
    ([], [{"quota": "all"}], "no_quotas", "there are no quotas"),
    ([quota("all", "1r/s")], [], "no_routes", "there are no routes"),
])
def test_nothing_is_limited(world, quotas, routes, kind, reason):
    sidecar = started(world, quotas, routes)
    assert seen_alike(sidecar, kind) == reason + ", so nothing is limited"
    assert told(sidecar, "NOTHING IS LIMITED: " + reason)


def test_peers_that_are_not_found(world, folder):
    key = folder / "gossip.key"
    key.write_text(secrets.token_hex(32) + "\n")
    key.chmod(0o600)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{nobody.getsockname()[1]}"
        cluster = {"name": "test", "key_file": str(key), "join": ["dns://nowhere.invalid:7946", silent]}
        sidecar = started(world, [quota("all", "1r/s")], [{"quota": "all"}], cluster=cluster)
        assert "nowhere.invalid:7946 is not found" in seen_alike(sidecar, "seed_unresolved")
        assert silent in seen_alike(sidecar, "seed_silent")
        assert told(sidecar, "1 route, 1 quota, peers: 0 of 2 seeds answer")


@pytest.mark.parametrize("other", ["key", "name"])
def test_a_key_or_cluster_name_that_nobody_shares_is_told_by_the_lonely_side(world, folder, other):
    fleet = world.fleet(2, [quota("all", "1r/s")], routes=[{"quota": "all"}], start=False)
    lonely = fleet[1]
    if other == "key":
        key = folder / "other.key"
        key.write_text(secrets.token_hex(32) + "\n")
        key.chmod(0o600)
        lonely.cluster["key_file"] = str(key)
    else:
        lonely.cluster["name"] = "another"
    for sidecar in fleet:
        sidecar.start()
    for sidecar in fleet:
        assert "gossip from" in seen_alike(sidecar, "unreadable_gossip")
        wait_kind(sidecar, "seed_silent")


def test_files_that_are_not_in_force(world):
    sidecar = started(world, [quota("all", "100r/s")], [{"quota": "all"}])
    sidecar.write_quotas([quota("all", "200r/s")], generation=5)
    wait_until(lambda: sidecar.metric("weir_quota_set_generation", set="test") == 5, 20, "it is in force")
    sidecar.write_quotas([quota("all", "100r/s")], generation=4)
    assert "generation 5 of test is in force, this is 4" in seen_alike(sidecar, "set_not_in_force")
    assert kinds(sidecar) == ["set_not_in_force"]
    assert sidecar.metric("weir_config_last_reload_successful") == 0
    assert sidecar.metric("weir_config_reloads_total", result="failure") == 1
    sidecar.quota_file.write_text("kind: Nothing\n")
    assert "what was in force stays" in seen_alike(sidecar, "reload_failed")
    sidecar.write_quotas([quota("all", "100r/s")], generation=6)
    wait_until(lambda: kinds(sidecar) == [], 20, "all is well")


FEW = quota("all", {"rate": "5r/h", "low": "5r", "high": "5r"})


def in_a_folder(sidecar, generation):
    """The settings name a folder with one quota file, and so stay good when it is gone."""
    folder = sidecar.folder / "quotas"
    folder.mkdir()
    sidecar.settings["quotas"] = [str(folder)]
    sidecar.quota_file = folder / "quotas.yaml"
    sidecar.write_quotas([FEW], generation)
    return folder


@pytest.mark.parametrize("peers, generation", [(0, "auto"), (0, 1), (1, "auto"), (1, 1)],
                         ids=["alone", "alone-numbered", "fleet", "fleet-numbered"])
def test_a_quota_file_that_is_gone_takes_no_limit_away(world, peers, generation):
    sidecar, *others = world.fleet(1 + peers, [FEW], routes=[{"quota": "all"}], start=False)
    folder = in_a_folder(sidecar, generation)
    sidecar.cluster = sidecar.cluster if others else None
    for follower in others:
        follower.settings["quotas"] = []
    for one in (sidecar, *others):
        one.start()
    sidecar.quota_file.unlink()
    assert "the set test is in no file here any more" in wait_kind(sidecar, "file_gone")["problem"]
    assert wait_kind(sidecar, "empty_folder")["subject"] == str(folder)
    assert [one["name"] for one in sidecar.api("/v1/quotas")["quotas"]] == ["all"]
    statuses = [http.get(sidecar.address, "/").status for _ in range(20)]
    assert 1 <= statuses.count(200) <= 6 and statuses.count(429) >= 14
    for follower in others:
        assert "file_gone" not in kinds(follower)
    sidecar.write_quotas([], generation if generation == "auto" else 2)
    wait_until(lambda: kinds(sidecar) == ["no_quotas"], 60, "a file without quotas ends the set")


@pytest.mark.parametrize("others", [0, 1], ids=["the-only-file", "beside-another"])
def test_a_quota_file_that_is_gone_at_a_restart_takes_no_limit_away(world, others):
    sidecar = world.fleet(1, [FEW], routes=[{"quota": "all"}], start=False)[0]
    sidecar.cluster = None
    folder = in_a_folder(sidecar, "auto")
    for number in range(others):
        (folder / f"other{number}.yaml").write_text(yaml.safe_dump(quota_set([quota("more", "1r/s")], "auto", "more")))
    sidecar.settings["snapshot"] = {"file": str(sidecar.folder / "kept")}
    sidecar.start()
    wait_until(lambda: (sidecar.folder / "kept.quotas").exists(), 20, "the documents are kept")
    sidecar.stop()
    sidecar.quota_file.unlink()
    sidecar.start()
    assert "the set test is in no file here; it stays in force here" in wait_kind(sidecar, "file_gone")["problem"]
    assert kinds(sidecar).count("empty_folder") == (0 if others else 1)
    assert [one["name"] for one in sidecar.api("/v1/quotas")["quotas"]] == ["all"] + ["more"] * others


def test_settings_on_disk_that_are_not_in_force(world):
    sidecar = started(world, [quota("all", "100r/s")], [{"quota": "all"}])
    text = sidecar.config_file.read_text()
    sidecar.config_file.write_text(text.replace("workers: 1", "workers: 2"))
    assert seen_alike(sidecar, "restart_needed") == "the change of workers takes a restart"
    sidecar.config_file.write_text(text.replace("workers: 1", "workres: 1"))
    assert "workres" in seen_alike(sidecar, "reload_failed")
    sidecar.config_file.write_text(text)
    wait_until(lambda: kinds(sidecar) == [], 20, "all is well")


def test_an_upstream_that_refuses(world):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        sidecar = started(world, [quota("all", "100r/s")], [{"quota": "all"}],
                          settings={"upstream": f"http://127.0.0.1:{nobody.getsockname()[1]}"})
        assert kinds(sidecar) == []
        assert http.get(sidecar.address, "/").status == 502
        assert "takes no connection" in seen_alike(sidecar, "upstream_refuses")


def test_all_connections_are_in_use(world):
    sidecar = started(world, [quota("all", "100r/s")], [{"quota": "all"}], settings={"limits": {"connections": 1}})
    host, port = sidecar.address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert http.get(sidecar.address, "/").status in (200, 502)
        assert "because 1 connections are served at most" in seen_alike(sidecar, "connections_full")


def test_an_upstream_that_is_not_found(world):
    sidecar = world.fleet(1, [quota("all", "1r/s")], routes=[{"quota": "all"}],
                          settings={"upstream": "http://nowhere.invalid:80"}, start=False)[0]
    sidecar.start(wait=False)

    def answers():
        try:
            return http.get(sidecar.status, "/livez").status == 200
        except OSError:
            return False
    wait_until(answers, 20, "it answers")
    assert "nowhere.invalid" in seen_alike(sidecar, "upstream_unresolved")


def test_a_check_for_a_quota_that_exists_nowhere(world):
    sidecar = started(world, [quota("all", "100r/s")], [{"quota": "all"}],
                      settings={"check": {"listen": f"127.0.0.1:{free_port()}"}})
    check = sidecar.settings["check"]["listen"]
    wait_until(lambda: told(sidecar, "1 route, 1 quota"), 10, "it has settled")
    assert http.get(check, "/check?quota=all").status == 200
    assert kinds(sidecar) == []
    assert http.get(check, "/check?quota=nope").status == 200
    assert "the quota 'nope', which does not exist" in seen_alike(sidecar, "check_unknown_quota")
    assert sidecar.metric("weir_proxy_events_total", event="check_unknown_quota") == 1


def test_what_no_quota_limits_is_counted_by_route(world):
    routes = [{"match": {"path": "/a"}, "quota": "nope"}, {"match": {"path": "/b"}, "quota": "all"}]
    sidecar = started(world, [quota("all", "100r/s")], routes)
    for path in ["/a", "/a", "/b", "/elsewhere", "/elsewhere", "/elsewhere"]:
        http.get(sidecar.address, path)
    counts = {have["route"]: number for name, have, number in sidecar.metrics()
              if name == "weir_unlimited_requests_total"}
    assert counts == {"routes[0]": 2, "routes[1]": 0, "none": 3}
