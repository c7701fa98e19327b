"""Sidecars and fleets of them: real weir processes on loopback."""

import os
import secrets
import signal
import subprocess
import time
import urllib.parse

import yaml

from . import http
from .paths import program
from .ports import free_port
from .processes import Process, wait_until


def quota(name, *limits, parent=None, **more):
    """A quota of a document; a limit is "1000r/s" or a mapping."""
    described = {"name": name, **more}
    if parent:
        described["parent"] = parent
    described["limits"] = [{"rate": limit} if isinstance(limit, str) else limit for limit in limits]
    return described


def awake(rate, low="200ms"):
    """A limit with so small a low burst that six tenths of its rate keep it from being quiet."""
    return {"rate": rate, "low": low}


def quota_set(quotas, generation=1, name="test"):
    return {"apiVersion": "weir/v1", "kind": "QuotaSet", "name": name, "generation": generation,
            "quotas": quotas}


# A page of metrics that takes a second is given again for ten.
FRESH_S = 30
BUCKET_ROUTES = [{"match": {"path": "/{bucket}/**"}, "quota": ["{bucket}"]}]


class Sidecar:
    """One weir process; ports and files stay the same through restarts."""

    def __init__(self, name, folder, upstream, cluster=None, routes=None, quotas=None, settings=None):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.address = f"127.0.0.1:{free_port()}"
        self.admin = f"127.0.0.1:{free_port()}"
        self.status = f"127.0.0.1:{free_port()}"
        self.gossip_port = free_port()
        self.gossip = f"127.0.0.1:{self.gossip_port}"
        self.upstream = upstream
        self.cluster = cluster
        self.routes = BUCKET_ROUTES if routes is None else routes
        self.settings = settings or {}
        self.launcher = []  # a program and its arguments that run weir
        self.program = "weir"  # or weir_next, the stand-in for the next version
        self.quota_file = self.folder / "quotas.yaml"
        self.write_quotas(quotas or [])
        self.process = None

    def write_quotas(self, quotas, generation=1):
        """Replaces the quota document at once."""
        new = self.quota_file.with_suffix(".new")
        new.write_text(yaml.safe_dump(quota_set(quotas, generation), sort_keys=False))
        os.replace(new, self.quota_file)

    def config(self):
        document = {
            "listen": self.address,
            "upstream": self.upstream if ":/" in self.upstream else f"http://{self.upstream}",
            "admin": self.admin,
            "status": self.status,
            "quotas": [str(self.quota_file)],
            "routes": self.routes,
            "workers": 1,
            # No balancer has to be given time; a test that has clients who come late sets another.
            "drain": {"keep_accepting": "0s"},
            "log": {"level": "info", "format": "json"},
        }
        if self.cluster:
            document["cluster"] = {"listen": self.gossip, "advertise": self.gossip, **self.cluster}
        document.update(self.settings)
        return document

    def start(self, wait=True):
        self.config_file = self.folder / "weir.yaml"
        self.config_file.write_text(yaml.safe_dump(self.config(), sort_keys=False))
        return self.start_with(self.config_file, wait)

    def start_with(self, config_file, wait=True):
        """Starts it with this settings' file, as it is."""
        self.config_file = config_file
        self.process = Process([*self.launcher, program(self.program), "run", "--config", self.config_file],
                               self.folder / "weir.log", cwd=self.folder)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout_s=60):
        wait_until(self.ready, timeout_s, f"{self.name} is ready: see {self.process.log}")

    def ready(self):
        if not self.process.running():
            raise RuntimeError(f"{self.name} ended with {self.process.popen.returncode}: see "
                               f"{self.process.log}\n{self.log_tail()}")
        try:
            return http.get(self.status, "/readyz", timeout_s=5).status == 200
        except OSError:
            return False

    def log_tail(self, lines=15):
        return self.process.log_tail(lines)

    def stop(self, timeout_s=30):
        """SIGTERM; the exit code."""
        return self.process.terminate(timeout_s) if self.process else None

    def kill(self):
        self.process.kill()

    def pause(self):
        self.process.signal(signal.SIGSTOP)

    def resume(self):
        self.process.signal(signal.SIGCONT)

    def reload(self):
        self.process.signal(signal.SIGHUP)

    def metrics(self):
        """The samples of a page whose counters were read after this call. A page that took long to
        make, as under a sanitizer, is given again for a while, and would show what was before."""
        asked, end = time.time(), time.monotonic() + FRESH_S
        while True:
            samples = http.parse_metrics(http.get(self.status, "/metrics").text)
            if http.metric_sum(samples, "weir_page_timestamp_seconds") >= asked:
                return samples
            assert time.monotonic() < end, f"{self.name} has made no new page of metrics for {FRESH_S} s"
            time.sleep(0.02)

    def metric(self, name, **labels):
        return http.metric_sum(self.metrics(), name, **labels)

    def api(self, path):
        return http.get(self.admin, path).json()

    def quota(self, name):
        return self.api("/v1/quotas/" + urllib.parse.quote(name, safe=""))

    def command(self, *arguments, check=True, timeout_s=60):
        """`weir <arguments> --admin <ours>`; its standard output."""
        done = subprocess.run([program("weir"), *arguments, "--admin", self.admin],
                              capture_output=True, text=True, timeout=timeout_s)
        if check and done.returncode != 0:
            raise RuntimeError(f"weir {' '.join(arguments)}: {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout


def peer_states(sidecar):
    """The states of all peers that a sidecar knows; its own row has the state `self`."""
    return [row["state"] for row in sidecar.api("/v1/peers")["peers"]]


class Fleet:
    """N sidecars that gossip, each with an origin listener of its own."""

    def __init__(self, folder, count, quotas, origin, routes=None, settings=None):
        self.folder = folder
        self.origin = origin
        key_file = folder / "gossip.key"
        key_file.write_text(secrets.token_hex(32) + "\n")
        key_file.chmod(0o600)
        cluster = {"name": "test", "key_file": str(key_file), "join": []}
        self.sidecars = [
            Sidecar(name, folder, origin.addresses.get(name, origin.address),
                    dict(cluster) if count > 1 else None, routes, quotas, settings)
            for name in names(count)
        ]
        seeds = [sidecar.gossip for sidecar in self.sidecars]
        for sidecar in self.sidecars:
            if sidecar.cluster:
                sidecar.cluster["join"] = seeds

    def __iter__(self):
        return iter(self.sidecars)

    def __getitem__(self, index):
        return self.sidecars[index]

    def __len__(self):
        return len(self.sidecars)

    def start(self):
        for sidecar in self.sidecars:
            sidecar.start(wait=False)
        for sidecar in self.sidecars:
            sidecar.wait_ready()
        self.wait_together()
        return self

    def wait_together(self, timeout_s=60):
        wait_until(lambda: all(self.alive_peers(one) == len(self) - 1 for one in self.sidecars),
                   timeout_s, "every sidecar sees all the others")

    @staticmethod
    def alive_peers(sidecar):
        """How many peers are live and not suspected, to wait for."""
        try:
            return peer_states(sidecar).count("alive")
        except OSError:
            return -1

    @staticmethod
    def live_peers(sidecar):
        """How many peers count as live. A suspect does until the suspicion runs out: one that has no core
        for some seconds is suspected, and clears itself as soon as it has one."""
        states = peer_states(sidecar)
        return states.count("alive") + states.count("suspect")

    @staticmethod
    def lost_peers(sidecar):
        """How many processes were taken for dead here, those included that came back."""
        states = peer_states(sidecar)
        return states.count("dead") + states.count("replaced")

    def stop(self):
        """All at once; their exit codes."""
        for sidecar in self.sidecars:
            if sidecar.process and sidecar.process.running():
                sidecar.resume()
                sidecar.process.ask_to_end()
        return [sidecar.stop() for sidecar in self.sidecars]

    def targets(self, chosen=None):
        return {one.name: one.address for one in (self.sidecars if chosen is None else chosen)}

    def metric(self, name, **labels):
        return sum(sidecar.metric(name, **labels) for sidecar in self.sidecars)


def names(count):
    return [chr(ord("a") + i) for i in range(count)]
