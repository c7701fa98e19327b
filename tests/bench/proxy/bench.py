#!/usr/bin/env python3
"""weir, HAProxy, nginx and a floor side by side: CPU time per request (scheduler run time of the proxy over
answers) and memory, in interleaved rounds with the same origin and load. Ratios are paired within a
round; the table shows medians and the spread. Nothing absolute is asserted. The floor is the least that a proxy
can do (floor.cpp). In the closed loop every connection sends its next request as soon as it is answered.

bench.py [--rounds N] [--seconds S] [--rate R] [--only WORKLOAD] [--other PROGRAM] [--output FILE]

--other PROGRAM: another build of weir, which takes part in each round: what a change costs."""

import argparse
import os
import random
import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from contenders import PLENTY, WeirContender, floor, haproxy, nginx, nginx_refusing  # first: it sets the path

from harness.load import Load, plan, stream
from harness.origin import Origin
from harness.paths import RUNS
from harness.processes import cpu_ns

# About 330 bytes of head in 7 fields, as a browser or SDK sends.
HEADERS = {
    "Accept-Encoding": "gzip, deflate",
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/s3/aws4_request",
    "X-Amz-Date": "20260101T000000Z",
    "X-Request-Source": "benchmark-of-the-proxies-side-by-side-0123456789",
}
BUCKETS = 1024
NGINX_PLENTY = "100000r/s"
OTHER = "weir-other"  # the program that --other names


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    rate_share: float = 1.0
    body_bytes: int = 3
    request_bytes: int = 0
    refused: bool = False
    baseline: str = "haproxy-http-table"
    closed_loop: int = 0  # so many connections, each of which sends as soon as it is answered; 0: at a set rate


WORKLOADS = [
    Workload("small-get", "small GET, forwarded"),
    Workload("saturated", "small GET, forwarded, closed loop of 32 connections", closed_loop=32),
    Workload("get-64k", "GET of 64 KiB", rate_share=0.25, body_bytes=65536),
    Workload("put-64k", "PUT of 64 KiB", rate_share=0.25, request_bytes=65536),
    Workload("refused", "GET refused with 429", refused=True),
    Workload("refused-saturated", "GET refused with 429, closed loop of 32 connections", refused=True,
             closed_loop=32),
]


def pin(pids, core):
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {core})


def start_contenders(workload, folder, origin, unix_path, other):
    address = origin.addresses["tcp"]
    rate = 0 if workload.refused else PLENTY
    others = [WeirContender(OTHER, folder, address, rate, binary=other.resolve())] if other else []
    return others + usual_contenders(workload, folder, address, unix_path)


def usual_contenders(workload, folder, address, unix_path):
    if workload.refused:
        return [WeirContender("weir", folder, address, 0),
                haproxy("haproxy-http-table", folder, address, rate=0),
                nginx("nginx-limit", folder, address, "1r/m", 0),
                nginx_refusing("nginx-return", folder, address)]
    return [
        WeirContender("weir", folder, address, PLENTY),
        WeirContender("weir-no-quotas", folder, address, PLENTY, limits=False),
        WeirContender("weir-unix-upstream", folder, f"unix:{unix_path}", PLENTY),
        haproxy("haproxy-http-table", folder, address, rate=PLENTY),
        haproxy("haproxy-http", folder, address),
        haproxy("haproxy-tcp", folder, address, tcp=True),
        nginx("nginx-limit", folder, address, NGINX_PLENTY, 10000),
        floor("floor", folder, address),
    ]


def run_load(folder, address, workload, options, seconds):
    method = "PUT" if workload.request_bytes else "GET"
    requests = stream("b", options.rate * workload.rate_share, path="/b{}/object", method=method,
                      arrivals="closed" if workload.closed_loop else "constant",
                      variants=BUCKETS, headers=HEADERS, body_bytes=workload.request_bytes)
    load = Load(folder, plan({"proxy": address}, [requests], seconds, linger_s=1,
                             connections_per_target=workload.closed_loop or options.connections))
    pin([load.process.pid], options.load_core)
    return load


def microseconds_per_answer(contender, folder, workload, options):
    before = sum(map(cpu_ns, contender.pids))
    result = run_load(folder, contender.address, workload, options, options.seconds).wait()
    used = sum(map(cpu_ns, contender.pids)) - before
    answers = result.total("refused") if workload.refused else result.total("ok")
    other = result.total("offered") - answers
    if other > 0.005 * result.total("offered"):
        print(f"    {contender.name}: {result.describe()}", file=sys.stderr)
    contender.busy.append(used / 1e9 / options.seconds)
    return used / 1e3 / max(1, answers)


def measure(workload, folder, options):
    """({contender: [µs of each round]}, {contender: (kernel's share, share of its core in use)})"""
    folder.mkdir(parents=True)
    unix_path = folder / "origin.sock"
    origin = Origin(folder, listeners=("tcp",), body_bytes=workload.body_bytes, unix_socket=unix_path)
    contenders = []
    try:
        contenders = start_contenders(workload, folder, origin, unix_path, options.other)
        pin([origin.process.pid], options.load_core)
        for contender in contenders:
            pin(contender.pids, options.proxy_core)
        figures = {contender.name: [] for contender in contenders}
        for number in range(options.rounds + 1):
            order = random.Random(number).sample(contenders, len(contenders))
            for contender in order:
                cost = microseconds_per_answer(contender, folder, workload, options)
                if number > 0:  # round 0 warms up
                    figures[contender.name].append(cost)
        return figures, {contender.name: shares(contender) for contender in contenders}
    finally:
        for contender in contenders:
            contender.stop()
        origin.stop()


def kernel_share(contender):
    """How much of the process' CPU time so far was the kernel's."""
    user = kernel = 0
    for pid in contender.pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
        user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return kernel / max(1, user + kernel)


def shares(contender):
    return kernel_share(contender), statistics.median(contender.busy[1:])


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


# Rows beside those of the contenders: what is divided by what, within each round.
PAIRS = [
    ("weir, quotas on against off", "weir", "weir-no-quotas"),
    ("weir, unix-socket against TCP upstream", "weir-unix-upstream", "weir"),
    ("weir against nginx-limit", "weir", "nginx-limit"),
    ("weir against nginx's own 429", "weir", "nginx-return"),
    ("weir against the floor", "weir", "floor"),
    ("weir without quotas against the floor", "weir-no-quotas", "floor"),
    ("weir against the other build", "weir", OTHER),
]


def table(workload, figures, share):
    baseline = figures[workload.baseline]
    lines = [f"| {workload.what} | CPU µs per request | ratio to {workload.baseline} "
             "| kernel's share | core in use |", "|---|---|---|---|---|"]
    for name, values in figures.items():
        ratios = [value / base for value, base in zip(values, baseline)]
        kernel, busy = share[name]
        lines.append(f"| {name} | {spread(values)} | {spread(ratios)} | {kernel:.0%} | {busy:.0%} |")
    for what, ours, theirs in PAIRS:
        if ours in figures and theirs in figures:
            ratios = [mine / other for mine, other in zip(figures[ours], figures[theirs])]
            lines.append(f"| *{what}* | | {spread(ratios)} | | |")
    return "\n".join(lines)


def memory(folder, options):
    """Resident memory at 1,000 requests in flight, each on a connection of its own."""
    folder.mkdir(parents=True)
    unix_path = folder / "origin.sock"
    origin = Origin(folder, listeners=("tcp",), delay_ms=1000, unix_socket=unix_path)
    workload = Workload("memory", "", rate_share=1000 / options.rate)
    lines = ["| 1,000 busy connections | MiB resident | of them before the load |", "|---|---|---|"]
    contenders = []
    try:
        contenders = start_contenders(workload, folder, origin, unix_path, options.other)
        for contender in contenders:
            idle = contender.process.resident_bytes()
            load = run_load(folder, contender.address, workload,
                            argparse.Namespace(**{**vars(options), "connections": 1200}), 3)
            time.sleep(2.5)
            busy = contender.process.resident_bytes()
            load.wait()
            lines.append(f"| {contender.name} | {busy / 2**20:.1f} | {idle / 2**20:.1f} |")
        return "\n".join(lines)
    finally:
        for contender in contenders:
            contender.stop()
        origin.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--proxy-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=max(0, (os.cpu_count() or 1) - 1))
    parser.add_argument("--only", default="")
    parser.add_argument("--other", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    folder = RUNS / "bench-proxy"
    shutil.rmtree(folder, ignore_errors=True)
    parts = []
    for workload in WORKLOADS:
        if options.only in workload.name:
            parts.append(table(workload, *measure(workload, folder / workload.name, options)))
            print(parts[-1] + "\n", flush=True)
    if options.only in "memory":
        parts.append(memory(folder / "memory", options))
        print(parts[-1])
    if options.output:
        options.output.write_text("\n\n".join(parts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
