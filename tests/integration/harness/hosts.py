"""Other proxies in front of an origin that ask weir: the examples of docs/examples/check, run as
they are but for their ports (8000: their own, 9903: weir's, 3000: the origin's)."""

import os
import re
import shutil
import socket
import subprocess

from .paths import ROOT
from .ports import free_port
from .processes import Process, wait_until

EXAMPLES = ROOT / "docs" / "examples" / "check"


def port_of(address):
    return address.rsplit(":", 1)[1]


def need(program):
    if not shutil.which(program):
        raise FileNotFoundError(f"{program} is missing: scripts/install-deps --tests")
    return program


class Host:
    """`replaced`: further {text: text} of the example; each must stand in it. `peek` makes it peek, and `patient`
    replaces the example's deadlines by long ones, for a machine on which an answer may take its time."""

    def __init__(self, folder, check, origin, replaced=None):
        self.folder = folder / self.name
        self.folder.mkdir()
        self.address = f"127.0.0.1:{free_port()}"
        text = (EXAMPLES / self.example).read_text()
        for old, new in (replaced or {}).items():
            assert old in text, old
            text = text.replace(old, new)
        ports = {"8000": port_of(self.address), "9903": port_of(check), "3000": port_of(origin)}
        text = re.sub(r"\b(8000|9903|3000)\b", lambda found: ports[found.group()], text)
        self.config = self.folder / self.example
        self.config.write_text(text)
        self.process = Process(self.command(), self.folder / "log", cwd=self.folder,
                               env={**os.environ, "HOME": str(self.folder)})
        wait_until(self.listening, 60, f"{self.name} listens: see {self.folder}")

    def listening(self):
        assert self.process.running(), f"{self.name} has ended: see {self.folder}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(port_of(self.address)))) == 0

    def stop(self):
        self.process.terminate()


class Nginx(Host):
    name, example, peek = "nginx", "nginx.conf", {"/check?deny=403": "/check?deny=403&peek=1"}
    patient = {"proxy_connect_timeout 250ms": "proxy_connect_timeout 10s", "proxy_read_timeout 1s": "proxy_read_timeout 10s"}

    def command(self):
        return [need("nginx"), "-p", self.folder, "-c", self.config, "-e", self.folder / "error.log",
                "-g", "daemon off; master_process off;"]


class Caddy(Host):
    name, example, peek = "caddy", "Caddyfile", {"uri /check?": "uri /check?peek=1"}
    patient = {}

    def command(self):
        return [need("caddy"), "run", "--config", self.config, "--adapter", "caddyfile"]


class Envoy(Host):
    name, example, peek = "envoy", "envoy.yaml", {"path_prefix: /check": "path_prefix: /peek"}
    patient = {"timeout: 0.25s": "timeout: 10s"}

    def command(self):
        program = subprocess.run([ROOT / "scripts" / "install-envoy"], check=True, timeout=600,
                                 stdout=subprocess.PIPE, text=True).stdout.strip()
        return [program, "-c", self.config, "--concurrency", "1", "--use-dynamic-base-id",
                "--log-level", "warning"]


HOSTS = {host.name: host for host in (Nginx, Caddy, Envoy)}
