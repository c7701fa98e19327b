"""The counting origin, with one listener for each sidecar."""

import json
from dataclasses import dataclass

from . import http
from .paths import program
from .processes import Process


@dataclass
class Arrivals:
    """What the origin counted: 10 ms bins of CLOCK_MONOTONIC by (listener, key)."""

    bin_ns: int
    now_ns: int
    series: list

    def _chosen(self, key, listener):
        return [row for row in self.series
                if (key is None or row["key"] == key) and (listener is None or row["listener"] == listener)]

    def total(self, key=None, listener=None):
        return sum(row["total"] for row in self._chosen(key, listener))

    def between(self, start_ns, end_ns, key=None, listener=None):
        first, last = start_ns // self.bin_ns, end_ns // self.bin_ns
        count = 0
        for row in self._chosen(key, listener):
            begin = max(0, first - row["first_bin"])
            count += sum(row["counts"][begin:max(0, last - row["first_bin"])])
        return count

    def bins(self, start_ns, seconds, key=None, listener=None):
        """Arrivals of each bin of so many seconds from start_ns on."""
        first = start_ns // self.bin_ns
        found = [0] * (seconds * 1_000_000_000 // self.bin_ns)
        for row in self._chosen(key, listener):
            for number, count in enumerate(row["counts"], row["first_bin"] - first):
                if 0 <= number < len(found):
                    found[number] += count
        return found

    def seconds(self, start_ns, count, key=None, listener=None):
        """Arrivals of each of `count` seconds from start_ns on."""
        second = 1_000_000_000
        return [self.between(start_ns + i * second, start_ns + (i + 1) * second, key, listener)
                for i in range(count)]

    def keys(self):
        return sorted({row["key"] for row in self.series})


class Origin:
    """`listeners`: names of listeners at free ports, or `name=address`."""

    def __init__(self, folder, listeners=("origin",), body_bytes=3, delay_ms=0, unix_socket=None,
                 other_every=0, other_status=304):
        arguments = [program("weir-origin"), "--control", "127.0.0.1:0",
                     "--body-bytes", body_bytes, "--delay-ms", delay_ms,
                     "--other-every", other_every, "--other-status", other_status]
        for name in listeners:
            arguments += ["--listen", name if "=" in name else f"{name}=127.0.0.1:0"]
        if unix_socket:
            arguments += ["--listen", f"unix=unix:{unix_socket}"]
        self.process = Process(arguments, folder / "origin.log", pipe_output=True)
        ready = json.loads(self.process.popen.stdout.readline())
        self.addresses = ready["listeners"]

    @property
    def address(self):
        return next(address for name, address in self.addresses.items() if name != "control")

    def arrivals(self):
        report = http.get(self.addresses["control"], "/report", timeout_s=30).json()
        return Arrivals(report["bin_ns"], report["now_ns"], report["series"])

    def reset(self):
        http.request(self.addresses["control"], "POST", "/reset")

    def stop(self):
        self.process.terminate()
