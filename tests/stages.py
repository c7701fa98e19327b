"""Runs the stages of CI one after another, each with a time limit, its own log and its own count.

Logs lie in build/test-logs; of a failed stage the end is printed. A stage whose build failed
counts as one failure, and the stages that need it do not run and count as one failure each.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-ra"]
CORES = os.cpu_count() or 1
FUZZ_SECONDS = 30
TAIL_LINES = 60


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass
class Stage:
    name: str
    what: str
    timeout_s: int
    run: callable
    needs: list = field(default_factory=list)
    deadline: float = 0.0


def command(stage, *commands, env=None):
    """Runs commands until one fails; output goes to the stage's log. True when all succeeded."""
    with open(LOGS / f"{stage.name}.log", "ab") as log:
        for arguments in commands:
            arguments = [str(argument) for argument in arguments]
            log.write(("$ " + " ".join(arguments) + "\n").encode())
            log.flush()
            if not run_limited(arguments, log, stage.deadline, env):
                return False
    return True


def run_limited(arguments, log, deadline, env):
    """In a session of its own, so that a time-out ends all that it started."""
    process = subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **(env or {})})
    try:
        return process.wait(timeout=max(1, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        log.write(b"the stage's time is over\n")
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def once(stage, *commands):
    good = command(stage, *commands)
    return Count(passed=int(good), failed=int(not good))


def junit_count(path, succeeded):
    if not path.exists():
        return Count(failed=1)
    cases = list(ElementTree.parse(path).iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    if not succeeded and failed == 0 or not cases:
        failed += 1  # a crash, a time-out, or nothing to run where there must be something
    return Count(max(0, len(cases) - failed - skipped), failed, skipped)


def junit(stage, arguments, option, env=None):
    report = LOGS / f"{stage.name}.xml"
    report.unlink(missing_ok=True)
    succeeded = command(stage, [*arguments, f"{option}{report}"], env=env)
    return junit_count(report, succeeded)


def pytest(*arguments, env=None):
    return lambda stage: junit(stage, [*PYTEST, *arguments], "--junitxml=", env)


def ctest(preset, labels, jobs=CORES):
    def run(stage):
        report = LOGS / f"{stage.name}.xml"
        report.unlink(missing_ok=True)
        succeeded = command(stage, ["ctest", "--test-dir", BUILD / preset, "-L", labels, "-j", jobs,
                                    "--output-on-failure", "--no-tests=error",
                                    "--output-junit", report])
        return junit_count(report, succeeded)
    return run


def build(preset, *targets):
    def run(stage):
        configure = ["cmake", "--preset", preset]
        make = ["cmake", "--build", BUILD / preset, "-j", CORES]
        return once(stage, configure, [*make, *(["--target", *targets] if targets else [])])
    return run


def fuzz(stage):
    """Every fuzz target for the same time, as many at once as there are cores."""
    targets = sorted(path for path in (BUILD / "fuzz" / "bin").glob("*fuzz*")
                     if os.access(path, os.X_OK))

    def run(target):
        corpus = LOGS / f"corpus-{target.name}"
        corpus.mkdir(exist_ok=True)
        seeds = ROOT / "tests" / "fuzz" / "corpus" / target.name
        with open(LOGS / f"{target.name}.log", "wb") as log:
            good = run_limited([str(target), f"-max_total_time={FUZZ_SECONDS}", "-timeout=10",
                                "-rss_limit_mb=2048", "-print_final_stats=1",
                                f"-artifact_prefix={LOGS}/{target.name}-", str(corpus),
                                *([str(seeds)] if seeds.is_dir() else [])],
                               log, stage.deadline, None)
        with open(LOGS / f"{stage.name}.log", "a") as log:
            print(f"{target.name}: {'good' if good else 'FAILED, see its log'}", file=log)
        return good

    with ThreadPoolExecutor(CORES) as pool:
        results = list(pool.map(run, targets))
    return Count(sum(results), len(results) - sum(results) + (not results))


INTEGRATION = "tests/integration"
# Most of these tests wait most of the time: two at once fit two cores.
PARALLEL = ["-n", str(min(4, CORES))]
ASAN = {"WEIR_BIN_DIR": str(BUILD / "asan" / "bin"), "ASAN_OPTIONS": "detect_leaks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1"}
RELEASE = {"WEIR_BIN_DIR": str(BUILD / "release" / "bin"),
           "WEIR_BIN": str(BUILD / "release" / "bin" / "weir")}

STAGES = [
    Stage("format", "clang-format", 120, lambda stage: once(stage, ["scripts/format", "--check"])),
    Stage("meta", "arrows, banned calls, listed files, docs", 120, pytest("tests/meta")),
    Stage("build", "g++ release build of everything", 1800, build("release")),
    Stage("unit", "unit tests", 600, ctest("release", "unit"), ["build"]),
    Stage("sockets", "module tests over real sockets", 600, ctest("release", "integration", 1),
          ["build"]),
    Stage("sim", "simulator tests", 900, ctest("release", "sim"), ["build"]),
    Stage("integration", "real processes, the CI subset", 780,
          pytest(INTEGRATION, "-m", "not long", *PARALLEL, env=RELEASE), ["build"]),
    Stage("chart", "the Helm chart", 900, pytest("tests/chart", env=RELEASE), ["build"]),
    Stage("asan-build", "clang build with address and undefined behaviour sanitizers", 1800,
          build("asan")),
    Stage("asan-unit", "unit tests under the sanitizers", 900, ctest("asan", "unit"),
          ["asan-build"]),
    Stage("asan-sockets", "module tests over real sockets under the sanitizers", 900,
          ctest("asan", "integration", 1), ["asan-build"]),
    Stage("asan-integration", "short integration under the sanitizers", 400,
          pytest(INTEGRATION, "-m", "smoke", env=ASAN), ["asan-build"]),
    Stage("fuzz-build", "libFuzzer targets", 900, build("fuzz", "fuzzers")),
    Stage("fuzz", f"each fuzz target for {FUZZ_SECONDS} s", 600, fuzz, ["fuzz-build"]),
]


def select(names):
    """The named stages and what they need; all when none is named."""
    known = {stage.name: stage for stage in STAGES}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"unknown stage {unknown[0]}; there are: {', '.join(known)}")
    wanted = set(names or known)
    for name in list(wanted):
        wanted.update(known[name].needs)
    return [stage for stage in STAGES if stage.name in wanted]


def print_tail(path):
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    shown = [re.sub(r"\s+$", "", line) for line in lines[-TAIL_LINES:]]
    print(f"--- the end of {path.relative_to(ROOT)}")
    print("\n".join("    " + line for line in shown), flush=True)


def run_stage(stage, failed):
    blocked = [name for name in stage.needs if name in failed]
    if blocked:
        return Count(failed=1), f"not run, for {blocked[0]} failed"
    log = LOGS / f"{stage.name}.log"
    log.unlink(missing_ok=True)
    started = time.monotonic()
    stage.deadline = started + stage.timeout_s
    count = stage.run(stage)
    note = f"{count.skipped} skipped, " if count.skipped else ""
    return count, f"{note}{time.monotonic() - started:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for stage in STAGES:
            print(f"{stage.name:18} {stage.what}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    total, failed = Count(), set()
    for stage in select(options.stages):
        print(f"{stage.name}: {stage.what} …", flush=True)
        count, note = run_stage(stage, failed)
        total.passed += count.passed
        total.failed += count.failed
        print(f"{stage.name}: {count.passed} passed, {count.failed} failed ({note})", flush=True)
        if count.failed:
            failed.add(stage.name)
            print_tail(LOGS / f"{stage.name}.log")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
