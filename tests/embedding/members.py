"""The example programs as members of a fleet, beside sidecars."""

import json
import shutil

import yaml

from conftest import EXAMPLES
from harness import http
from harness.ports import free_port
from harness.processes import Process, wait_until


def settings_file(folder, name, fleet, **more):
    """What an embedding program reads: like a sidecar's file, without a proxy."""
    cluster = dict(fleet[0].cluster, listen="127.0.0.1:0")
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"cluster": cluster, "quotas": [str(EXAMPLES / "quotas.yaml")],
                                    **more}))
    return path


class GoProxy:
    """docs/examples/go: a reverse proxy."""

    def __init__(self, installed, built, folder, fleet, upstream):
        self.address = f"127.0.0.1:{free_port()}"
        self.process = Process([built / "limited", settings_file(folder, "go", fleet), self.address,
                                f"http://{upstream}"], folder / "go.log", env=installed.environment, judged=True)

    def ready(self):
        return answers(self.address)

    def stop(self):
        return self.process.terminate()


class Nginx:
    """docs/examples/nginx-lua with its addresses and paths replaced by the test's."""

    def __init__(self, installed, folder, fleet, upstream, sidecar):
        self.address = f"127.0.0.1:{free_port()}"
        self.peeking = f"127.0.0.1:{free_port()}"
        settings = settings_file(folder, "embed", fleet)
        text = (EXAMPLES / "nginx-lua" / "nginx.conf").read_text()
        for old, new in {"modules/": "/usr/lib/nginx/modules/", "127.0.0.1:8080": self.address,
                         "127.0.0.1:8081": self.peeking, "127.0.0.1:3000": upstream,
                         "127.0.0.1:8000": sidecar, "/etc/weir/embed.yaml": str(settings),
                         "/etc/weir/?.lua": f"{folder}/?.lua",
                         "/var/log/nginx/error.log": f"{folder}/nginx.log info",
                         "/run/nginx.pid": f"{folder}/nginx.pid"}.items():
            assert old in text, f"{old} is not in nginx.conf any more"
            text = text.replace(old, new)
        (folder / "nginx.conf").write_text("daemon off;\nuser root;\n" + text)
        shutil.copy(EXAMPLES / "nginx-lua" / "weir.lua", folder)
        folder.chmod(0o755)
        self.process = Process(["/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"],
                               folder / "nginx-start.log", env=installed.environment)

    def ready(self):
        return answers(self.address)

    def stop(self):
        return self.process.terminate()


class LimitedClient:
    """docs/examples/cpp: makes its own load."""

    def __init__(self, installed, built, folder, fleet, upstream, quota, rate, seconds):
        host, port = upstream.rsplit(":", 1)
        self.process = Process([built / "limited-client", settings_file(folder, "cpp", fleet), quota,
                                host, port, rate, seconds], folder / "cpp.log", pipe_output=True,
                               env=installed.environment, judged=True)

    def result(self):
        result = json.loads(self.process.popen.stdout.readline())
        assert self.process.popen.wait(30) == 0
        return result

    def stop(self):
        self.process.kill()


def answers(address):
    """Its metrics are there, so it is a member and listens."""
    try:
        return http.get(address, "/weir/metrics").status == 200
    except OSError:
        return False


def peers_seen(address):
    return http.metric_sum(http.parse_metrics(http.get(address, "/weir/metrics").text),
                           "weir_peers", state="alive")


def wait_ready(*members):
    for member in members:
        wait_until(member.ready, 30, f"{type(member).__name__} serves: see {member.process.log}")
