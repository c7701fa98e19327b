#!/usr/bin/env python3
"""What many names in use cost a fleet: gossip, processor time of the control thread, memory.

Each row starts members of its own on loopback: programs that embed the library and make their own open-loop load
(fleet_member), so that nothing but the library is measured. Goals stand beside the figures.

    tests/bench/fleet/fleet_bench.py                      every row, some ten minutes
    tests/bench/fleet/fleet_bench.py --list               what there is
    tests/bench/fleet/fleet_bench.py --only names         the rows whose names hold this text
    tests/bench/fleet/fleet_bench.py --only 100-hot --other build/other/lib
                                                          each row by turns with the libweir.so of another build, which
                                                          shows what a change costs
    WEIR_BIN_DIR=build/dev/bin tests/bench/fleet/fleet_bench.py
                                                          the fleet_member of another build, and its library

The bench runs in a network namespace of its own (root, or sudo without a password), so that nothing else uses its
ports; without one it says so and goes on. Figures are each member's: the mean, and in brackets the least and the
most. A goal holds if it holds at every member. Shares of a core depend on the machine and on what else it does; bytes
and counts do when the control threads have to wait for cores, and then a goal that holds does not count. Exit code: 0,
also when goals are missed; 1 if a row could not be measured."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fleet import TooMuchMemory  # noqa: E402
from harness.paths import BIN, ROOT, RUNS  # noqa: E402
from rows import MEMBERS, ROWS, WITHOUT_A_CORE, Bench  # noqa: E402
from restarts import RESTARTS  # noqa: E402
from storms import STORMS  # noqa: E402

OWN_NETWORK = ROOT / "tests" / "integration" / "own_network"
STARVED_PERCENT = 10
ALL = ROWS + STORMS + RESTARTS
INSIDE = "WEIR_FLEET_BENCH_INSIDE"  # set in the process that has its own network


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds this text")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument("--seconds", type=float, default=15, help="length of a window (default: 15)")
    parser.add_argument("--members", type=int, default=MEMBERS, help=f"members of a fleet (default: {MEMBERS})")
    parser.add_argument("--memory", type=float, default=8, metavar="GIB",
                        help="a row ends when its members have more (default: 8)")
    parser.add_argument("--library", type=Path, metavar="FOLDER",
                        help="where the libweir.so.1 lies that is measured (default: beside fleet_member)")
    parser.add_argument("--other", type=Path, metavar="FOLDER", help="where one lies that is measured as well")
    parser.add_argument("--attempts", type=int, default=1, metavar="N",
                        help="measure a row again, up to N times, when its control threads had no cores (default: 1)")
    parser.add_argument("--details", action="store_true", help="show every message and event that was counted")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    options = parser.parse_args(arguments)
    for folder in (options.library, options.other):
        if folder and not (folder / "libweir.so.1").exists():
            parser.error(f"there is no libweir.so.1 in {folder}")
    return options


def enter_own_network():
    """Becomes the same program in a network of its own, if there is one to be had."""
    if INSIDE in os.environ:
        return
    tried = subprocess.run([OWN_NETWORK, "-c", ""], capture_output=True, text=True)
    if tried.returncode == 0:
        os.environ[INSIDE] = "1"
        os.execv(OWN_NETWORK, [str(OWN_NETWORK), *sys.argv])
    print(f"{tried.stderr.strip()}: the members share the machine's network", file=sys.stderr)


def number(value):
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 or value == int(value) else f"{value:.{1 if size >= 10 else 3}f}"


def told(figure):
    values = figure.values
    mean = number(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({number(min(values))}–{number(max(values))})"


def goal_told(figure):
    if figure.goal is None:
        return ""
    if isinstance(figure.goal, tuple):
        return f"{figure.goal[0]} … {figure.goal[1]}"
    return f"≤ {figure.goal}" if figure.goal else "0"


def table(row, measured, details):
    """`measured`: figures by the name of their build; none where it could not be measured."""
    lines = [f"### {row.name}: {row.what}", "", f"| figure | {' | '.join(measured)} | goal | |",
             "|---|---|---" + "|---" * len(measured) + "|"]
    # A build may count what another one does not know.
    by_what = {name: {one.what: one for one in figures or []} for name, figures in measured.items()}
    assert all(len(by_what[name]) == len(figures or []) for name, figures in measured.items()), "two of one name"
    for figure in {one.what: one for figures in measured.values() for one in figures or []}.values():
        if figure.detail and not details:
            continue
        found = [of_build.get(figure.what) for of_build in by_what.values()]
        unit = f" {figure.unit}" if figure.unit else ""
        cells = [told(one) + unit if one else "–" for one in found]
        verdict = "" if figure.goal is None else ", ".join(map(verdict_of, found, measured.values()))
        lines.append(f"| {figure.what} | {' | '.join(cells)} | {goal_told(figure)} | {verdict} |")
    for name, figures in measured.items():
        if figures is None:
            lines += ["", f"{name}: not measured"]
        elif starved(figures):
            lines += ["", f"{name}: the control threads had to wait for cores. The machine did too much else for this "
                          "row to count."]
    return "\n".join(lines)


def verdict_of(figure, row):
    """Members that have no cores send and work less: where they were starved, a goal that holds says nothing."""
    if figure is None:
        return "–"
    return "**missed**" if not figure.good() else "does not count" if starved(row) else "holds"


def starved(figures):
    """Whether control threads had no core for so long that members took themselves for stopped, or others for slow."""
    waits = [value for figure in figures if WITHOUT_A_CORE in figure.what for value in figure.values]
    return max(waits, default=0) > STARVED_PERCENT


def measure(row, options, name, library):
    """The row's figures; none if it could not be measured. Where control threads had no cores, it is measured again."""
    for attempt in range(1, options.attempts + 1):
        figures = measure_once(row, options, name, library)
        if figures is None or not starved(figures):
            break
        print(f"  {row.name}, {name}: the machine was late (attempt {attempt})", file=sys.stderr, flush=True)
    return figures


def measure_once(row, options, name, library):
    began = time.monotonic()

    def say(what):
        print(f"  {time.monotonic() - began:5.0f} s  {row.name}, {name}: {what}", file=sys.stderr, flush=True)

    folder = RUNS / "fleet-bench" / row.name.replace("/", "-")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return row.run(Bench(folder, options, say, library))
    except TooMuchMemory as failure:
        say(f"ended, for the members have {failure}")
    except Exception:
        traceback.print_exc()
    return None


def main(arguments):
    options = parse(arguments)
    chosen = [row for row in ALL if options.only in row.name]
    if options.list or not chosen:
        print("\n".join(f"{row.name:14} {row.what}" for row in ALL))
        return 0 if options.list else 2
    enter_own_network()
    print(f"{options.members} members of {BIN}, windows of {options.seconds:.0f} s, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}\n", flush=True)
    builds = {"measured": options.library, **({"the other": options.other} if options.other else {})}
    result, failed = {}, False
    for row in chosen:
        measured = {name: measure(row, options, name, library) for name, library in builds.items()}
        failed = failed or None in measured.values()
        print(table(row, measured, options.details) + "\n", flush=True)
        result[row.name] = {name: as_json(figures) for name, figures in measured.items()}
        if options.output:
            options.output.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if failed else 0


def as_json(figures):
    return figures and {"counts": not starved(figures),
                        "figures": [{"what": one.what, "values": one.values, "unit": one.unit, "goal": one.goal,
                                     "good": one.good()} for one in figures]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
