"""Open-loop load from weir-load."""

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass, field

from .paths import program
from .processes import Process

SECOND = 1_000_000_000
# A machine with others on it may keep a core from a process for a second. What falls due meanwhile is sent
# late, not left out, and there is room for twice as much.
LATE_S = 2
LEAST_QUEUE = 1024
# Rates of tests that also run under sanitizers, where weir is about three times slower.
SCALE = float(os.environ.get("WEIR_LOAD_SCALE", "1"))
FIELDS = ("offered", "ok", "refused", "other", "errors", "skipped", "retried")


def scaled(rate):
    return int(rate * SCALE)


@dataclass
class LoadResult:
    start_ns: int = 0
    end_ns: int = 0  # when the last answer was there
    seed: int = 0
    bins: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    @property
    def span_ns(self):
        return self.start_ns, self.end_ns

    def total(self, what, stream=None, target=None):
        return sum(row[what] for row in self.rows
                   if stream in (None, row["stream"]) and target in (None, row["target"]))

    def largest(self, what, stream=None, target=None):
        return max((row[what] for row in self.rows
                    if stream in (None, row["stream"]) and target in (None, row["target"])), default=0)

    def per_target(self, what, stream, targets):
        """What the summary says of the stream at each of the targets, e.g. "p99_ms"."""
        found = [row[what] for row in self.rows
                 if row["stream"] == stream and row["target"] in targets]
        assert len(found) == len(targets), (stream, targets)
        return found

    def between(self, what, from_s, to_s, stream=None, target=None):
        return sum(row[what] for row in self.bins
                   if from_s <= row["at_s"] + 1e-6 and row["at_s"] + 1e-6 < to_s
                   and stream in (None, row["stream"]) and target in (None, row["target"]))

    def lag_ms(self):
        return max((row["lag_ms"] for row in self.bins), default=0)

    def describe(self):
        counts = ", ".join(f"{name} {self.total(name)}" for name in FIELDS)
        return (f"seed {self.seed}: {counts}, largest lag {self.lag_ms():.1f} ms, "
                f"longest answer {self.largest('max_ms'):.1f} ms")


class Load:
    """A run of weir-load; `result` grows while it runs and is whole after wait()."""

    def __init__(self, folder, plan, name="load"):
        self.result = LoadResult()
        self.commands = []  # what it was told, and when it did that
        self._started = threading.Event()
        self._idle = {target["name"]: threading.Event() for target in plan["targets"]}
        path = folder / f"{name}-plan.json"
        path.write_text(json.dumps(plan, indent=1))
        self.duration_s = plan["duration_s"]
        self.process = Process([program("weir-load"), "--plan", path, "--commands"],
                               folder / f"{name}.log", pipe_output=True, pipe_input=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._started.wait(30):
            raise RuntimeError("weir-load did not start: see " + str(folder))

    def _read(self):
        for line in self.process.popen.stdout:
            record = json.loads(line)
            if record["event"] == "start":
                self.result.start_ns = record["start_ns"]
                self.result.seed = record["seed"]
                self._started.set()
            elif record["event"] == "bin":
                self.result.bins.append(record)
            elif record["event"] == "command":
                self.commands.append(record)
            elif record["event"] == "idle":
                self._idle[record["target"]].set()
            elif record["event"] == "summary":
                self.result.end_ns = time.monotonic_ns()
                self.result.rows = record["rows"]
        for ended in (self._started, *self._idle.values()):
            ended.set()

    @property
    def start_ns(self):
        return self.result.start_ns

    def command(self, line):
        self.process.popen.stdin.write((line + "\n").encode())
        self.process.popen.stdin.flush()

    def pause(self, target, until_idle=True, timeout_s=30):
        """Sends nothing to the target any more; returns when it has answered all that it was sent."""
        self._idle[target].clear()
        self.command(f"pause {target}")
        if until_idle and not self._idle[target].wait(timeout_s):
            raise TimeoutError(f"{target} still has requests to answer after {timeout_s} s")

    def resume(self, target):
        self.command(f"resume {target}")

    def wait(self):
        self._reader.join(self.duration_s + 60)
        self.process.popen.wait(10)
        self.process.kill()
        assert self.result.rows, f"weir-load ended without a summary: {self.process.log}"
        return self.result

    def stop(self):
        with contextlib.suppress(BrokenPipeError):  # it has just ended by itself
            self.command("stop")
        return self.wait()


def stream(name, rate, arrivals="constant", shares=None, **more):
    """`rate`: a number or [(at_s, per_second)]; `shares`: numbers or [(at_s, [numbers])]. With the arrivals
    "closed" every connection sends as soon as it is answered, and the rate counts for nothing."""
    described = {"name": name, "path": f"/{name}/object", "arrivals": arrivals, **more}
    if isinstance(rate, (int, float)):
        described["rate"] = rate
    else:
        described["rate"] = [{"at_s": at_s, "per_second": value} for at_s, value in rate]
    if shares is not None:
        if isinstance(shares[0], (int, float)):
            described["shares"] = list(shares)
        else:
            described["shares"] = [{"at_s": at_s, "shares": list(value)} for at_s, value in shares]
    return described


def phases(path, rate, steps, arrivals="constant", paths=None):
    """One stream after another, so that the summary tells each phase's latencies. `steps`: [(name,
    from_s)] from 0 on; a phase ends where the next begins; names may come again. All are on the same
    path, but for those whose names begin with one of `paths`: {beginning: more of the stream}."""
    rates = {}
    for i, (name, from_s) in enumerate(steps):
        steps_of = rates.setdefault(name, [(0, 0)] if from_s > 0 else [])
        steps_of.append((from_s, rate))
        if i + 1 < len(steps):
            steps_of.append((steps[i + 1][1], 0))
    def more(name):
        found = [value for beginning, value in (paths or {}).items() if name.startswith(beginning)]
        return {"path": path, **(found[0] if found else {})}
    return [stream(name, steps_of, arrivals, **more(name)) for name, steps_of in rates.items()]


def highest_rate(described):
    """The most requests a second that the stream ever sends."""
    rate = described["rate"]
    return rate if isinstance(rate, (int, float)) else max(step["per_second"] for step in rate)


def late_queue(streams):
    """How many requests may wait for one target: what falls due within LATE_S, if all streams go there."""
    return max(LEAST_QUEUE, int(LATE_S * sum(map(highest_rate, streams))))


def plan(targets, streams, duration_s, seed=1, **more):
    """`targets`: {name: address}."""
    return {"seed": seed, "duration_s": duration_s, "streams": streams,
            "targets": [{"name": name, "address": address} for name, address in targets.items()],
            "queue_per_target": late_queue(streams), **more}
