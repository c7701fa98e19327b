"""The real program's command line: variables, messages, and a sidecar of its own."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness.ports import free_port  # noqa: E402

WEIR = Path(os.environ.get("WEIR_BIN_DIR", ROOT / "build" / "release" / "bin")) / "weir"

QUOTAS = """\
apiVersion: weir/v1
kind: QuotaSet
name: test
generation: 1
quotas:
  - {name: all, limits: [{rate: 1000r/s}]}
  - {name: "b/{bucket}", parent: all, limits: [{rate: 500r/s}]}
"""


def weir(*arguments, env=None, cwd=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
    return subprocess.run([WEIR, *arguments], capture_output=True, text=True, timeout=30,
                          env={**clean, **(env or {})}, cwd=cwd)


def replace(path, text):
    """At once: a sidecar that watches the file never sees a part of it."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


def wait_until(condition, timeout_s=30):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.02)


def status_of(address, path):
    try:
        return urllib.request.urlopen(f"http://{address}{path}", timeout=5).status
    except urllib.error.HTTPError as answer:
        return answer.code
    except OSError:
        return 0


@pytest.fixture
def config(tmp_path):
    (tmp_path / "quotas.yaml").write_text(QUOTAS)
    path = tmp_path / "weir.yaml"
    path.write_text(f"listen: 127.0.0.1:{free_port()}\nupstream: http://127.0.0.1:{free_port()}\n"
                    f"admin: 127.0.0.1:{free_port()}\nstatus: 127.0.0.1:{free_port()}\n"
                    f"quotas: [{tmp_path}/quotas.yaml]\nworkers: 1\n"
                    "routes: [{match: {path: \"/{bucket}/**\"}, quota: \"b/{bucket}\"}]\n"
                    "drain: {keep_accepting: 0s}\n")
    return path


def value(config, key):
    return next(line.split(": ", 1)[1] for line in config.read_text().splitlines()
                if line.startswith(key + ":"))


class Running:
    def __init__(self, config, *arguments):
        self.config = config
        self.log = config.parent / "log"
        self.process = subprocess.Popen([WEIR, "run", "--config", config, *arguments],
                                        stderr=self.log.open("w"), stdout=subprocess.DEVNULL)
        self.admin = value(config, "admin")
        self.status = value(config, "status")

    def __enter__(self):
        def up():
            assert self.process.poll() is None, self.log.read_text()
            return status_of(self.status, "/readyz") == 200
        wait_until(up)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def command(self, *arguments):
        return weir(*arguments, "--admin", self.admin)


# ---- variables -------------------------------------------------------------------------------------

def test_a_misspelt_variable_is_named(config):
    env = {"WEIR_LISTN": "127.0.0.1:1", "WEIR_CLUSTER_KEYFILE": "x", "WEIR_NOTHING_NEAR": "1",
           "WEIR_PORT_7946_UDP_ADDR": "10.0.0.1", "WEIR_SERVICE_HOST": "10.0.0.1"}  # of Kubernetes
    done = weir("validate", "--config", config, env=env)
    assert done.returncode == 0
    assert "WEIR_LISTN: warning: no setting has this variable, did you mean 'WEIR_LISTEN'?" in done.stderr
    assert "WEIR_CLUSTER_KEYFILE: warning: " in done.stderr and "WEIR_CLUSTER_KEY_FILE" in done.stderr
    assert done.stderr.count("warning") == 2
    assert weir("validate", "--strict", "--config", config, env=env).returncode == 1
    remote = weir("status", "--admin", f"127.0.0.1:{free_port()}", env={"WEIR_OUTPTU": "json"})
    assert "variable WEIR_OUTPTU, did you mean 'WEIR_OUTPUT'?" in remote.stderr


def test_where_to_listen_and_where_to_ask_are_two_variables(config):
    with Running(config) as sidecar:
        asked = weir("status", env={"WEIR_ADMIN_ADDRESS": sidecar.admin})
        assert asked.returncode == 0, asked.stderr
        elsewhere = weir("status", env={"WEIR_ADMIN": f"127.0.0.1:{free_port()}", "WEIR_ADMIN_ADDRESS": sidecar.admin})
        assert (elsewhere.returncode, elsewhere.stderr) == (0, "")


# ---- validate ----------------------------------------------------------------------------------

def test_the_examples_are_valid():
    done = weir("validate", "--config", "config/weir.yaml", cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "valid: 1 quota set(s), 6 quota(s)\n"
    assert weir("validate", "config/quotas.yaml", cwd=ROOT).returncode == 0


def test_validate_tells_every_error_with_its_place(config):
    config.write_text("lisen: x\nworkers: y\n")
    (config.parent / "q.yaml").write_text("kind: QuotaSet\n")
    done = weir("validate", "--config", config, config.parent / "q.yaml")
    assert done.returncode == 1
    assert f"{config}:1:1: lisen: unknown field, did you mean 'listen'?" in done.stderr
    assert f"{config}:2:10: workers: 'y' is not a whole number" in done.stderr
    assert f"{config.parent}/q.yaml:1:1: 'apiVersion' is missing" in done.stderr


def test_validate_for_programs_and_for_annotations(config):
    config.write_text("upstream: a:1\nworkers: y\nroutes: [{quota: all}]\n")
    shown = weir("validate", "-o", "json", "--config", config)
    assert shown.returncode == 1 and shown.stderr == ""
    report = json.loads(shown.stdout)
    assert (report["valid"], report["errors"]) == (False, 1)
    assert report["diagnostics"][0] == {
        "severity": "error", "file": str(config), "line": 2, "column": 10, "path": "workers",
        "message": "'y' is not a whole number", "suggestion": ""}
    config.write_text("upstream: a:1\nlisten: here\n")
    noted = weir("validate", "--output", "github", "--config", config)
    assert noted.returncode == 1
    assert f"::error file={config},line=2,col=9::listen: 'here' is not an address" in noted.stdout
    good = json.loads(weir("validate", "-o", "json", config.parent / "quotas.yaml").stdout)
    assert good == {"valid": True, "errors": 0, "warnings": 0, "quota_sets": 1, "quotas": 2, "diagnostics": []}
    config.write_text("upstream: a:1\n")
    warned = weir("validate", "-o", "json", "--config", config)
    assert warned.returncode == 0 and json.loads(warned.stdout)["warnings"] == 2
    strict = weir("validate", "-o", "json", "--strict", "--config", config)
    assert strict.returncode == 1 and json.loads(strict.stdout)["valid"] is False


def test_paths_of_a_file_begin_at_its_folder(config):
    config.write_text(config.read_text().replace(f"{config.parent}/quotas.yaml", "quotas.yaml"))
    assert weir("validate", "--config", config, cwd="/").returncode == 0
    assert weir("validate", "--config", config, "--quotas", "quotas.yaml", cwd="/").returncode == 1
    assert weir("validate", "--config", config, "--quotas", "quotas.yaml", cwd=config.parent).returncode == 0


def test_validate_maps_what_the_router_finds_to_places(config):
    config.write_text("upstream: a:1\nroutes:\n  - match: {path: \"/a/{b\"}\n    quota: x\n")
    done = weir("validate", "--config", config)
    assert done.returncode == 1
    assert f"{config}:3:" in done.stderr and "routes[0].match.path: " in done.stderr


def test_a_route_whose_quota_exists_nowhere_is_warned_of_and_an_error_if_strict(config):
    config.write_text(config.read_text().replace('quota: "b/{bucket}"', "quota: al"))
    warned = weir("validate", "--config", config)
    assert warned.returncode == 0 and warned.stdout.startswith("valid: ")
    assert "routes[0].quota: there is no quota 'al'" in warned.stderr
    assert "did you mean 'all'?" in warned.stderr
    for command in (["validate"], ["run"], ["run", "--check"]):
        done = weir(*command, "--strict", "--config", config)
        assert done.returncode == 1, command
        assert "1 warning(s), which are errors because of --strict" in done.stderr
    assert weir("run", "--check", "--config", config).returncode == 0


def test_validate_names_flags_and_variables():
    done = weir("validate", "--upstream", "https://a", env={"WEIR_LISTEN": "here"})
    assert done.returncode == 1
    assert "--upstream: 'https://a' asks for TLS" in done.stderr
    assert "WEIR_LISTEN: 'here' is not an address" in done.stderr


def test_a_flag_wins_over_its_variable_and_both_over_the_file(config):
    bad = {"WEIR_WORKERS": "many"}
    assert weir("validate", "--config", config, env=bad).returncode == 1
    text = weir("validate", "--config", config, "--workers", "few", env={"WEIR_WORKERS": "1"}).stderr
    assert "--workers: 'few'" in text
    assert weir("validate", env={"WEIR_CONFIG": str(config)}).returncode == 0


def test_a_missing_file():
    done = weir("validate", "--config", "/nowhere/weir.yaml")
    assert done.returncode == 1
    assert done.stderr.startswith("/nowhere/weir.yaml: No such file or directory")


# ---- what keeps run from starting --------------------------------------------------------------

def test_a_port_in_use(config):
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(value(config, "listen").rsplit(":", 1)[1])))
        other.listen()
        for arguments in (["run"], ["run", "--check"]):
            done = weir(*arguments, "--config", config)
            assert done.returncode == 1
            assert f"listen: cannot listen on {value(config, 'listen')}: Address already in use" \
                in done.stderr


@pytest.mark.parametrize("key", ["admin", "status"])
def test_other_ports_in_use(config, key):
    host, port = value(config, key).rsplit(":", 1)
    with socket.socket() as other:
        other.bind((host, int(port)))
        other.listen()
        done = weir("run", "--config", config)
        assert done.returncode == 1
        assert f"{key}:" in done.stderr and "already in use" in done.stderr


@pytest.mark.parametrize("content,mode,message", [
    (None, 0, "No such file"),
    ("brief-secret\n", 0o600, "not a key of 32 bytes"),
    (secrets.token_hex(32), 0o644, "chmod o-rw"),
])
def test_a_bad_key_file(config, content, mode, message):
    key = config.parent / "gossip.key"
    if content is not None:
        key.write_text(content)
        key.chmod(mode)
    for arguments in (["run"], ["run", "--check"]):
        done = weir(*arguments, "--config", config, "--cluster-key-file", key,
                    "--cluster-listen", f"127.0.0.1:{free_port()}")
        assert done.returncode == 1
        assert str(key) in done.stderr and message.lower() in done.stderr.lower(), done.stderr
        assert content is None or content.strip() not in done.stderr


def test_bad_settings_start_nothing(config):
    config.write_text(config.read_text() + "nonsense: 1\n")
    done = weir("run", "--config", config)
    assert done.returncode == 1
    assert "nonsense: unknown field" in done.stderr and "not started" in done.stderr


@pytest.mark.parametrize("key", ["listen", "admin", "status", "check.listen"])
def test_a_unix_socket_that_cannot_be_made(config, key):
    flag = "--" + key.replace(".", "-")
    missing = config.parent / "missing" / "weir.sock"
    good = config.parent / "weir.sock"
    (config.parent / "file").write_text("in the way")
    for path, code in ((missing, 1), (config.parent / "file", 1), (good, 0)):
        checked = weir("run", "--check", "--config", config, flag, f"unix:{path}")
        assert checked.returncode == code, checked.stderr
        if code == 1:
            assert f"{key}: cannot listen on unix:{path}: " in checked.stderr
            assert weir("run", "--config", config, flag, f"unix:{path}").returncode == 1
    assert not good.exists() and (config.parent / "file").read_text() == "in the way"


def test_an_access_log_that_cannot_be_written(config):
    bad = ["--config", config, "--access-log", "all", "--access-log-file", config.parent / "missing" / "log"]
    for arguments in (["run"], ["run", "--check"]):
        done = weir(*arguments, *bad)
        assert done.returncode == 1 and "access_log_file: cannot open " in done.stderr
    log = config.parent / "access.log"
    good = ["--config", config, "--access-log", "all", "--access-log-file", log]
    assert weir("run", "--check", *good).returncode == 0 and not log.exists()
    log.write_text("a line\n")
    assert weir("run", "--check", *good).returncode == 0 and log.read_text() == "a line\n"


def test_check_says_that_it_could_start(config):
    done = weir("run", "--check", "--config", config)
    assert (done.returncode, done.stdout) == (0, "weir could start here\n")


def test_an_unreachable_admin_listener():
    done = weir("status", "--admin", f"127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert "no answer from the admin listener" in done.stderr


# ---- a running one -----------------------------------------------------------------------------

def test_status_and_quotas(config):
    with Running(config) as sidecar:
        shown = sidecar.command("status")
        assert shown.returncode == 0 and "ready" in shown.stdout
        assert json.loads(sidecar.command("status", "-o", "json").stdout)["status"]["health"]["ready"]
        listed = sidecar.command("quota", "list")
        assert "b/{bucket}" in listed.stdout and "file test#1" in listed.stdout
        changed = sidecar.command("quota", "set", "all", "--rate", "70r/s", "--why", "a test")
        assert changed.returncode == 0
        assert "before  1000r/s" in changed.stdout and "after   70r/s" in changed.stdout
        got = sidecar.command("quota", "get", "all").stdout
        assert "70r/s" in got and "a test" in got and "api epoch" in got
        dry = sidecar.command("quota", "set", "all", "--rate", "1r/s", "--dry-run")
        assert "nothing changed" in dry.stdout
        assert "70r/s" in sidecar.command("quota", "get", "all").stdout
        assert sidecar.command("quota", "rm", "all").stdout.split() == ["all", "now", "1000r/s"]
        rows = json.loads(sidecar.command("quota", "list", "b/", "-o", "json").stdout)
        assert [row["name"] for row in rows] == ["b/{bucket}"]


def test_refused_changes_exit_1_with_the_reason(config):
    with Running(config) as sidecar:
        for arguments, message in [
            (["set", "all", "--high", "2x"], "--high: '2x' is neither"),
            (["set", "all", "--parent", "nobody"], "there is no quota 'nobody'"),
            (["rm", "nobody"], "no override"),
            (["get", "nobody"], "no quota of that name"),
            (["get", "al"], "did you mean 'all'?"),
            (["set", "all", "--mode", "shadw"], "did you mean 'shadow'?"),
        ]:
            done = sidecar.command("quota", *arguments)
            assert done.returncode == 1 and message in done.stderr, (arguments, done.stderr)


def test_a_template_s_instance_becomes_a_quota_of_its_own(config):
    with Running(config) as sidecar:
        assert sidecar.command("quota", "set", "b/hot", "--rate", "5r/s").returncode == 0
        listed = sidecar.command("quota", "list", "b/hot").stdout
        assert "5r/s" in listed and "all" in listed


def test_drain_then_sigterm(config):
    with Running(config) as sidecar:
        assert sidecar.command("drain").returncode == 0
        assert status_of(sidecar.status, "/readyz") == 503
        assert status_of(sidecar.status, "/livez") == 200
        assert "draining" in sidecar.command("status").stdout
        sidecar.process.send_signal(signal.SIGTERM)
        assert sidecar.process.wait(timeout=30) == 0


def test_a_second_sigterm_ends_at_once(config):
    config.write_text(config.read_text().replace("keep_accepting: 0s", "keep_accepting: 1m"))
    with Running(config) as sidecar:
        sidecar.process.send_signal(signal.SIGTERM)
        wait_until(lambda: status_of(sidecar.status, "/readyz") == 503)
        assert sidecar.process.poll() is None
        sidecar.process.send_signal(signal.SIGTERM)
        assert sidecar.process.wait(timeout=30) == 1


def test_reload_takes_over_routes_and_reports_what_needs_a_restart(config):
    with Running(config) as sidecar:
        text = config.read_text()
        replace(config, text.replace("workers: 1", "workers: 2").replace("quota: \"b", "quota: \"c"))
        sidecar.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded" in sidecar.log.read_text())
        assert "take a restart" in sidecar.log.read_text() and "workers" in sidecar.log.read_text()
        replace(config, text + "nonsense: 1\n")
        sidecar.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload failed" in sidecar.log.read_text())
        assert "FAILED" in sidecar.command("status").stdout
        replace(config, text)
        sidecar.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "FAILED" not in sidecar.command("status").stdout)


def test_a_changed_quota_file_is_noticed_and_a_bad_one_changes_nothing(config):
    quotas = config.parent / "quotas.yaml"
    with Running(config) as sidecar:
        quotas.write_text(QUOTAS.replace("generation: 1", "generation: 2").replace("500r", "400r"))
        wait_until(lambda: "400r/s" in sidecar.command("quota", "list").stdout)
        replace(quotas, QUOTAS.replace("generation: 1", "generation: 3").replace("500r", "x"))
        wait_until(lambda: "FAILED" in sidecar.command("status").stdout)
        assert "quotas.yaml:7:" in sidecar.command("status").stdout
        assert "400r/s" in sidecar.command("quota", "list").stdout
        # The same generation with other content is refused as well.
        replace(quotas, QUOTAS.replace("generation: 1", "generation: 2"))
        wait_until(lambda: "quotas.yaml:7:" not in sidecar.command("status").stdout)
        assert "FAILED" in sidecar.command("status").stdout
        replace(quotas, QUOTAS.replace("generation: 1", "generation: 4"))
        wait_until(lambda: "FAILED" not in sidecar.command("status").stdout)


def test_the_admin_listener_on_a_unix_socket(config):
    path = config.parent / "admin.sock"
    config.write_text("\n".join(line for line in config.read_text().splitlines()
                                if not line.startswith("admin:")) + f"\nadmin: unix:{path}\n")
    with Running(config) as sidecar:
        assert sidecar.command("quota", "list").returncode == 0


def test_json_logs_are_json(config):
    with Running(config, "--log-format", "json") as sidecar:
        wait_until(lambda: "\n" in sidecar.log.read_text())
        lines = [json.loads(line) for line in sidecar.log.read_text().split("\n")[:-1]]
        assert lines and lines[0]["message"] == "serving" and lines[0]["level"] == "info"
