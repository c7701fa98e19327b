"""Three sidecars, one limit: a noisy and a quiet bucket, an edit at one sidecar, a kill. Prints one
line a second and a verdict, and writes a page that shows the run."""

import json
import shutil
import signal
import sys
import time
from pathlib import Path

import picture

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from harness.load import SECOND, Load, plan, stream  # noqa: E402
from harness.origin import Origin  # noqa: E402
from harness.paths import ROOT, RUNS  # noqa: E402
from harness.sidecar import Fleet, names, quota  # noqa: E402

NOISY, QUIET = "service/acme/noisy", "service/acme/quiet"
LIMIT, NEW_LIMIT = 500, 800
OFFERED, QUIET_OFFERED = 1500, 50
SHARES = [70, 20, 10]
EDIT_AT_S, KILL_AT_S, END_S = 40, 80, 105
# (name, from, to, limit): where the mean has to be within TOLERANCE of the limit.
WINDOWS = [
    ("overload", 5, EDIT_AT_S, LIMIT),
    ("after the edit", EDIT_AT_S + 5, KILL_AT_S, NEW_LIMIT),
    ("one killed", KILL_AT_S + 5, END_S, NEW_LIMIT),
]
TOLERANCE = 0.02
PAGE = ROOT / "build" / "demo.html"

TREE = [
    quota("service", "5000r/s"),
    quota("service/acme", "2000r/s", parent="service"),
    quota(NOISY, f"{LIMIT}r/s", parent="service/acme"),
    quota(QUIET, f"{LIMIT}r/s", parent="service/acme"),
]
ROUTES = [{"match": {"path": "/{bucket}/**"}, "quota": ["service/acme/{bucket}"]}]

HEAD = " time | offered | admitted | limit | discard p |  admitted through a / b / c  | quiet: sent, refused"


class Demo:
    def __init__(self, folder):
        self.folder = folder
        self.origin = Origin(folder, listeners=names(3))
        self.fleet = Fleet(folder, 3, TREE, self.origin, ROUTES)
        self.limit = LIMIT
        self.load = None
        self.rows = []  # one for each second, as picture.py reads them

    def start(self):
        self.fleet.start()
        streams = [stream("noisy", OFFERED, "poisson", SHARES), stream("quiet", QUIET_OFFERED, "poisson")]
        self.load = Load(self.folder, plan(self.fleet.targets(), streams, END_S + 0.5, seed=2024))

    def stop(self):
        if self.load:
            self.load.process.kill()
        self.fleet.stop()
        self.origin.stop()

    def at(self, second):
        """Sleeps until that second of the run (and half a second, for answers to be counted)."""
        due_ns = self.load.start_ns + int((second + 0.5) * SECOND)
        time.sleep(max(0.0, (due_ns - time.monotonic_ns()) / SECOND))

    def discard_probability(self):
        """What the sidecars believe, on average."""
        believed = [one.metric("weir_quota_discard_probability", quota=NOISY)
                    for one in self.fleet if one.process.running()]
        return sum(believed) / len(believed)

    def row(self, second):
        """What the second that ended was like."""
        result, arrivals = self.load.result, self.origin.arrivals()
        begin_ns = self.load.start_ns + (second - 1) * SECOND
        return {
            "second": second,
            "offered": result.between("offered", second - 1, second, "noisy"),
            "admitted": arrivals.between(begin_ns, begin_ns + SECOND, "noisy"),
            "limit": self.limit,
            "discard_probability": round(self.discard_probability(), 3),
            "through": [arrivals.between(begin_ns, begin_ns + SECOND, "noisy", one.name) for one in self.fleet],
            "quiet_sent": result.between("offered", second - 1, second, "quiet"),
            "quiet_refused": result.between("refused", second - 1, second, "quiet"),
        }

    def edit(self):
        self.fleet[1].command("quota", "set", NOISY, "--rate", f"{NEW_LIMIT}r/s")
        self.limit = NEW_LIMIT
        print(f"       weir quota set {NOISY} --rate {NEW_LIMIT}r/s   (at sidecar b only)")

    def kill(self):
        self.load.pause("a")  # its clients go to the others, as behind any balancer
        self.fleet[0].kill()
        print("       sidecar a, which had 70 % of the load, is killed")

    def play(self):
        print(HEAD)
        for second in range(1, END_S + 1):
            self.at(second)
            self.rows.append(self.row(second))
            print(line(self.rows[-1]), flush=True)
            if second == EDIT_AT_S:
                self.edit()
            elif second == KILL_AT_S:
                self.kill()
        self.load.wait()


def line(row):
    """A second as it is printed."""
    shares = " / ".join(f"{100 * part / max(1, row['admitted']):3.0f} %" for part in row["through"])
    return (f"{row['second']:4} s | {row['offered']:7} | {row['admitted']:8} | {row['limit']:5} "
            f"| {row['discard_probability']:9.3f} | {shares:^28} | {row['quiet_sent']:5}, {row['quiet_refused']}")


def record(rows):
    """The run as a file keeps it and picture.py draws it."""
    return {"rows": rows, "events": [
        {"second": EDIT_AT_S, "what": f"limit {LIMIT} → {NEW_LIMIT}, at b only"},
        {"second": KILL_AT_S, "what": "sidecar a is killed"}]}


def show(rows):
    """Writes the record and the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.with_suffix(".json").write_text(json.dumps(record(rows), ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(picture.page(record(rows)), encoding="utf-8")
    print(f"The run as a page: {PAGE}")


def held(window, arrivals, start_ns):
    """Whether the mean was within TOLERANCE of the window's limit; tells it."""
    name, from_s, to_s, limit = window
    mean = arrivals.between(start_ns + from_s * SECOND, start_ns + to_s * SECOND, "noisy") / (to_s - from_s)
    good = abs(mean / limit - 1) <= TOLERANCE
    print(f"{name:>15}: {mean:7.1f} admitted a second, limit {limit}: {mean / limit:.3f} of it, "
          f"{'good' if good else 'OFF BY MORE THAN 2 %'}")
    return good


def lost(result):
    """What came of the quiet requests that got no good answer, in words; nothing when all did."""
    sent, answered = result.total("offered", "quiet"), result.total("ok", "quiet")
    if sent < QUIET_OFFERED * END_S / 2:
        return "TOO FEW SENT"
    if sent == answered:
        return ""
    return f"{sent - answered} LOST: " + ", ".join(
        f"{result.total(what, 'quiet')} {what}" for what in ("refused", "other", "errors", "skipped"))


def verdict(arrivals, result):
    """True when the limit held in each window and the quiet bucket lost nothing."""
    windows = [held(window, arrivals, result.start_ns) for window in WINDOWS]
    missing = lost(result)
    good = all(windows) and not missing
    print(f"   quiet bucket: {result.total('offered', 'quiet')} sent, {result.total('ok', 'quiet')} answered, "
          f"{missing or 'nothing lost'}")
    print("verdict: " + ("the fleet held its limit" if good else "THE LIMIT DID NOT HOLD"))
    return good


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    folder = RUNS / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    demo = Demo(folder)
    try:
        print("Three weir sidecars a, b, c on loopback, one tree: service (5000/s) > acme (2000/s) > noisy, "
              f"quiet ({LIMIT}/s each).\nLoad on noisy: {OFFERED}/s, 70 % through a, 20 % through b, 10 % "
              f"through c; on quiet: {QUIET_OFFERED}/s. Logs: {folder}", flush=True)
        demo.start()
        demo.play()
        good = verdict(demo.origin.arrivals(), demo.load.result)
        show(demo.rows)
        return 0 if good else 1
    finally:
        demo.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
