"""Members that make their own load through the library, fleets of them, and what a window of time cost each."""

import json
import os
import secrets
import signal
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))

from harness import http  # noqa: E402
from harness.network import udp_drops  # noqa: E402
from harness.paths import program  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.processes import Process, wait_until  # noqa: E402
from harness.sidecar import quota_set  # noqa: E402

IP_AND_UDP_BYTES = 28  # around each datagram; the library counts what it hands to the socket
UP_S = 60
CONTROL = "weir-control"


class TooMuchMemory(Exception):
    """The fleet has outgrown what the bench may use; the row ends, and says so."""


def environment(library):
    """Where the member finds the library: beside it, or in the folder of another build."""
    return {**os.environ, "LD_LIBRARY_PATH": str(library.resolve())} if library else None


class Member:
    """One fleet_member; `settings` is its settings file's content. It can be started again."""

    def __init__(self, name, folder, settings, library=None):
        self.name, self.folder, self.library = name, folder, library
        self.file = folder / f"{name}.yaml"
        self.file.write_text(yaml.safe_dump(settings, sort_keys=False))
        self.start()

    def start(self):
        self.process = Process([program("fleet_member"), self.file], self.folder / f"{self.name}.log", pipe_input=True,
                               pipe_output=True, env=environment(self.library))

    def send(self, do, **more):
        self.process.popen.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        self.process.popen.stdin.flush()

    def answer(self):
        line = self.process.popen.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} has ended:\n{self.process.log_tail(10)}")
        told = json.loads(line)
        if "error" in told:
            raise RuntimeError(f"{self.name}: {told['error']}")
        return told

    def pause(self):
        self.process.signal(signal.SIGSTOP)

    def resume(self):
        self.process.signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()

    def stop(self):
        """With a goodbye to the others."""
        if self.process.running():
            self.process.signal(signal.SIGCONT)
            self.process.popen.stdin.close()  # the end of its input is the end of the member
            try:
                self.process.popen.wait(30)
            finally:
                self.process.kill()


class Figures:
    """What one member told, read."""

    def __init__(self, told, lost=0):
        self.told, self.lost = told, lost
        self.samples = http.parse_metrics(told["metrics"])

    def metric(self, name, **labels):
        return http.metric_sum(self.samples, name, **labels)

    def labels(self, name, label, **others):
        """The values of a label that this build's page has."""
        return sorted({have[label] for sample, have, _ in self.samples
                       if sample == name and others.items() <= have.items()})

    @property
    def live_peers(self):
        return self.told["live_peers"]

    @property
    def memory(self):
        return self.told["anonymous_bytes"]

    def loads(self, key, prefix=""):
        """Requests of all loads, or of those on names with that prefix, that ended so."""
        return sum(stream[key] for load in self.told["loads"] for stream in load["streams"]
                   if stream["prefix"].startswith(prefix))

    def by_name(self, prefix):
        """Requests admitted of each name."""
        rows = [stream["admitted_by_name"] for load in self.told["loads"] for stream in load["streams"]
                if stream["prefix"] == prefix]
        return [sum(row) for row in zip(*rows)]

    @property
    def running(self):
        """Whether a load has not ended yet."""
        return any(load["running"] for load in self.told["loads"])

    def latest_ms(self):
        return max((stream["latest_ms"] for load in self.told["loads"] for stream in load["streams"]),
                   default=0.0)


class Window:
    """What a member did between the first answer and the last. The time of its threads is taken from the end of the
    first to the beginning of the last, so that neither page is in it; requests are counted before a page is made,
    and what the page tells is as old as its end. Pages that were made in between are taken off at the price of the
    cheapest: what else the thread did meanwhile belongs to the window."""

    def __init__(self, answers):
        self.first, self.last, self.between = answers[0], answers[-1], answers[1:-1]
        self.thread_seconds = self.last.told["before_s"] - self.first.told["after_s"]
        self.load_seconds = self.last.told["before_s"] - self.first.told["before_s"]
        self.page_seconds = self.last.told["after_s"] - self.first.told["after_s"]

    def control_percent(self):
        """Of a core."""
        run = (self.last.told["threads"][CONTROL]["run_s"] - self.first.told["threads_after"][CONTROL]["run_s"])
        page = min(one.told["page_s"] for one in [self.first, self.last, *self.between])
        return max(0.0, 100 * (run - len(self.between) * page) / self.thread_seconds)

    def waited_percent(self):
        """Of the window, in which the control thread had work and no core: what else the machine did."""
        waited = (self.last.told["threads"][CONTROL]["waited_s"]
                  - self.first.told["threads_after"][CONTROL]["waited_s"])
        return 100 * waited / self.thread_seconds

    def load_percent(self):
        """Of a core, of the threads that make the load."""
        def run(threads):
            return threads.get("weir-load", {"run_s": 0.0})["run_s"]
        used = run(self.last.told["threads"]) - run(self.first.told["threads_after"])
        return 100 * max(0.0, used) / self.thread_seconds

    def grown(self, name, **labels):
        return self.last.metric(name, **labels) - self.first.metric(name, **labels)

    def rate(self, name, **labels):
        """Of a counter of the page."""
        return self.grown(name, **labels) / self.page_seconds

    def lost(self):
        """How many datagrams the kernel had no room for at this member's socket."""
        return self.last.lost - self.first.lost

    def kilobytes(self, direction):
        """Of gossip a second, with IP and UDP headers."""
        size = (self.rate("weir_gossip_bytes_total", direction=direction)
                + IP_AND_UDP_BYTES * self.rate("weir_gossip_datagrams_total", direction=direction))
        return size / 1000

    def staleness_s(self):
        return max(one.metric("weir_gossip_staleness_seconds") for one in [*self.between, self.last])

    def loads(self, key, prefix=""):
        return self.last.loads(key, prefix) - self.first.loads(key, prefix)

    def by_name(self, prefix):
        """Requests admitted of each name a second."""
        # A load that began within the window has no names in the first answer.
        first = self.first.by_name(prefix) or [0] * len(self.last.by_name(prefix))
        return [(new - old) / self.load_seconds for old, new in zip(first, self.last.by_name(prefix))]


class Fleet:
    """Members of one cluster on loopback, with one quota document. `count` 1 with `clustered` False is a member
    without a cluster."""

    def __init__(self, folder, count, quotas, library=None, clustered=True, most_memory=0, **settings):
        folder.mkdir(parents=True)
        self.most_memory, self.clustered = most_memory, clustered
        document, key = folder / "quotas.yaml", folder / "key"
        document.write_text(yaml.safe_dump(quota_set(quotas), sort_keys=False))
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        self.ports = [free_port() for _ in range(count)]
        addresses = [f"127.0.0.1:{port}" for port in self.ports]
        self.members = []
        for number, address in enumerate(addresses):
            cluster = {"listen": address, "advertise": address, "join": addresses, "key_file": str(key)}
            content = {"quotas": [str(document)], **settings, **({"cluster": cluster} if clustered else {})}
            self.members.append(Member(f"member{number}", folder, content, library))
        self.peers = count - 1 if clustered else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for member in self.members:
            member.stop()

    def up(self):
        """Whether every member knows all others."""
        return all(one.live_peers == self.peers for one in self.figures())

    def wait_up(self):
        wait_until(self.up, UP_S, "the members have not found each other", every_s=0.2)

    def figures(self, without=()):
        """All are asked at once, but for those that stand still: theirs are None."""
        asked = [member for member in self.members if member not in without]
        for member in asked:
            member.send("figures")
        answers = [Figures(member.answer(), udp_drops(port) if self.clustered else 0) if member in asked else None
                   for member, port in zip(self.members, self.ports)]
        memory = sum(one.memory for one in answers if one)
        if self.most_memory and memory > self.most_memory:
            raise TooMuchMemory(f"{memory / 2**30:.1f} GiB")
        return answers

    def load(self, seconds, streams, only=None):
        """Begins a load at every member, or at the one with the number `only`. A stream's rate is each member's,
        and what names take turns begins at another name in each."""
        members = self.members if only is None else [self.members[only]]
        for number, member in enumerate(members):
            mine = [{**one, "turn": number * one.get("names", 1) // len(members)} for one in streams]
            member.send("load", seconds=seconds, seed=number + 1, streams=mine)
        for member in members:
            member.answer()

    def wait_used(self, timeout_s):
        """Until the loads have ended, which may take longer than planned on a busy machine."""
        wait_until(lambda: not any(one.running for one in self.figures()), timeout_s,
                   "the loads have not ended", every_s=0.1)

    def windows(self, seconds, every_s=None):
        """A Window of each member; with `every_s` figures are taken meanwhile, too."""
        end = time.monotonic() + seconds
        answers = [self.figures()]
        while every_s and time.monotonic() + every_s < end:
            time.sleep(every_s)
            answers.append(self.figures())
        time.sleep(max(0.0, end - time.monotonic()))
        answers.append(self.figures())
        return [Window(list(of_member)) for of_member in zip(*answers)]
