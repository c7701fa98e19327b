"""Runs the stages of CI in two lanes, each stage with a time limit, its own log and its own count.

The stages of one lane run one after another. Those that are marked `beside` wait for most of their time: for
sockets, for windows of load, for processes that start. The processor would stand still meanwhile, so the
other lane, with builds and all that only computes, runs at the same time; its processes have the lowest
priority, and so do not delay the tests that judge by the clock.

Logs are in build/test-logs. While a stage runs, the last line of its log is printed; when it fails,
the end of the log. A stage whose build failed counts as one failure, and the stages that need this
build do not run and count as one failure each. Stages that --list shows as not in CI run only when
they are named. `quick` stands for five stages that tell within ten minutes whether a change is good.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from limited_process import end_all, run_limited
from stage_count import Count, junit_count
from threaded_tests import threaded_unit_tests

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-ra"]
CORES = os.cpu_count() or 1
FUZZ_SECONDS = 30
# The limits of stages only end hangs: other processes of the machine may take most of the time.
HANG_S = 1800
BUILD_HANG_S = 3600
TAIL_LINES = 60


@dataclass
class Stage:
    name: str
    what: str
    timeout_s: int
    run: callable
    needs: list = field(default_factory=list)
    beside: bool = False  # which of the two lanes
    deadline: float = 0.0
    processor_seconds: float = 0.0
    in_ci: bool = True


def command(stage, *commands, env=None):
    """Runs commands until one fails; output goes to the stage's log. True when all succeeded. `env` is
    added to the environment: a dictionary, or a function that makes one for a stage."""
    env = env(stage) if callable(env) else env
    with open(LOGS / f"{stage.name}.log", "ab") as log:
        for arguments in commands:
            arguments = [str(argument) for argument in arguments]
            log.write(("$ " + " ".join(arguments) + "\n").encode())
            log.flush()
            if not run_limited(stage, arguments, log, env):
                return False
    return True


def once(stage, *commands, env=None):
    good = command(stage, *commands, env=env)
    return Count(passed=int(good), failed=int(not good))


def junit(stage, arguments, option, env=None):
    report = LOGS / f"{stage.name}.xml"
    report.unlink(missing_ok=True)
    succeeded = command(stage, [*arguments, f"{option}{report}"], env=env)
    return junit_count(report, succeeded)


def pytest(*arguments, env=None):
    return lambda stage: junit(stage, [*PYTEST, *arguments], "--junitxml=", env)


def integration(marks, env):
    """Most of these tests wait most of the time: six at once fit two cores. Those that load the
    machine are one group, which runs one after another beside the others."""
    return lambda stage: junit(stage, [*PYTEST, INTEGRATION, "-m", marks, "--dist", "loadgroup", *workers()],
                               "--junitxml=", env)


def workers():
    """For pytest: six workers, each in a network of its own; or, where there is none to be had, fewer
    in the machine's, which the screen then says."""
    tried = subprocess.run([ROOT / OWN_NETWORK, "-c", ""], capture_output=True, text=True)
    if tried.returncode == 0:
        return ["--tx", f"{min(6, 3 * CORES)}*popen//python={OWN_NETWORK}"]
    few = min(4, CORES)
    print(f"    {tried.stderr.strip()}: only {few} tests at once, which share the machine's network", flush=True)
    return ["-n", str(few)]


def ctest(preset, labels, jobs=CORES, only=None, env=None):
    """The tests with the label; `only` is an expression that their names match as well."""
    def run(stage):
        report = LOGS / f"{stage.name}.xml"
        report.unlink(missing_ok=True)
        # CTest writes to the folder in which it runs, and the other lane may be using the same build.
        folder = LOGS / f"ctest-{stage.name}"
        folder.mkdir(exist_ok=True)
        (folder / "CTestTestfile.cmake").write_text(f'subdirs("{BUILD / preset}")\n')
        succeeded = command(stage, ["ctest", "--test-dir", folder, "-L", labels, "-j", jobs,
                                    *(["-R", only] if only else []),
                                    "--output-on-failure", "--no-tests=error",
                                    "--output-junit", report], env=env)
        return junit_count(report, succeeded)
    return run


def build(preset, *targets, options=()):
    def run(stage):
        configure = ["cmake", "--preset", preset, "-DWEIR_BUILD_TESTS=ON",
                     "-DWEIR_REQUIRE_TEST_DATA=ON", *options]
        make = ["cmake", "--build", BUILD / preset, "-j", CORES]
        return once(stage, configure, [*make, *(["--target", *targets] if targets else [])])
    return run


def inputs_of(target, corpus):
    """What a fuzz target begins with: its own corpus, the committed one, and its dictionary if it has one."""
    committed = ROOT / "tests" / "fuzz" / "corpus" / target.name
    dictionary = ROOT / "tests" / "fuzz" / f"{target.name}.dict"
    return [*([f"-dict={dictionary}"] if dictionary.exists() else []), corpus,
            *([committed] if committed.is_dir() else [])]


def fuzz(stage):
    """Every fuzz target for the same time, as many at once as there are cores."""
    targets = sorted(path for path in (BUILD / "fuzz" / "bin").glob("*fuzz*")
                     if os.access(path, os.X_OK))

    def run(target):
        corpus = LOGS / f"corpus-{target.name}"
        corpus.mkdir(exist_ok=True)
        with open(LOGS / f"{target.name}.log", "wb") as log:
            good = run_limited(stage, [target, f"-max_total_time={FUZZ_SECONDS}", "-timeout=10",
                                "-rss_limit_mb=2048", "-print_final_stats=1",
                                f"-artifact_prefix={LOGS}/{target.name}-",
                                *inputs_of(target, corpus)], log, None)
        with open(LOGS / f"{stage.name}.log", "a") as log:
            print(f"{target.name}: {'good' if good else 'FAILED, see its log'}", file=log)
        return good

    with ThreadPoolExecutor(CORES) as pool:
        results = list(pool.map(run, targets))
    return Count(sum(results), len(results) - sum(results) + (not results))


def planted(stage):
    """Each planted bug is found by the target that is there for it; without it the input is harmless."""
    def run(bug):
        name, target = bug, BUILD / "fuzz" / "bin" / PLANTED[bug]
        prefix, corpus = LOGS / f"planted-{name}-", LOGS / f"corpus-planted-{name}"
        for old in LOGS.glob(f"{prefix.name}*"):
            old.unlink()
        shutil.rmtree(corpus, ignore_errors=True)
        corpus.mkdir()
        begun = time.monotonic()
        with open(LOGS / f"planted-{name}.log", "wb") as log:
            run_limited(stage, [target, f"-max_total_time={PLANTED_SECONDS}", "-timeout=10", "-seed=1",
                         f"-artifact_prefix={prefix}", *inputs_of(target, corpus)],
                        log, {"WEIR_PLANTED": name})
            seconds = time.monotonic() - begun
            found = sorted(each for each in LOGS.glob(f"{prefix.name}*") if "slow-unit" not in each.name)
            good = bool(found) and run_limited(stage, [target, *found], log, None)
        said = f"found in {seconds:.0f} s" if found else f"NOT FOUND in {seconds:.0f} s"
        with open(LOGS / f"{stage.name}.log", "a") as log:
            print(f"{name} by {target.name}: {said}{'' if good else ', FAILED, see its log'}", file=log)
        return good

    with ThreadPoolExecutor(CORES) as pool:
        results = list(pool.map(run, PLANTED))
    return Count(sum(results), len(results) - sum(results))


def reports_of(stage):
    """The folder into which processes of this stage write what a sanitizer found."""
    return LOGS / f"reports-{stage.name}"


def without_reports(run):
    """A stage under a sanitizer: every report in its folder is a failure, whatever the tests said."""
    def watched(stage):
        folder = reports_of(stage)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        count = run(stage)
        reports = sorted(folder.iterdir())
        with open(LOGS / f"{stage.name}.log", "a") as log:
            for report in reports:
                print(f"--- {report.name}\n{report.read_text(errors='replace')[:4000]}", file=log)
        count.failed += len(reports)
        return count
    return watched


def demo(stage):
    """The demo that the README promises: its exit code, that it says of each part what came of it, and that
    its verdict on bad runs is another one."""
    verdicts = pytest("tests/demo")(stage)
    count = once(stage, ["/usr/bin/python3", "-u", "tests/demo/demo.py"], env=RELEASE)
    said = (LOGS / f"{stage.name}.log").read_text(errors="replace")
    expected = [r"^ *overload: .* good$", r"^ *after the edit: .* good$", r"^ *one killed: .* good$",
                r"^ *quiet bucket: .* nothing lost$", r"^verdict: the fleet held its limit$", "^The run as a page: "]
    missing = [line for line in expected if not re.search(line, said, re.MULTILINE)]
    with open(LOGS / f"{stage.name}.log", "a") as log:
        print(f"lines that are missing: {missing or 'none'}", file=log)
    return Count(verdicts.passed + count.passed + len(expected) - len(missing),
                 verdicts.failed + count.failed + len(missing))


def matrix(stage):
    """All cases; the table lies beside the logs, `matrix.py` by itself writes the documented one."""
    good = command(stage, ["/usr/bin/python3", "tests/integration/matrix.py",
                           "--output", LOGS / "integration-matrix.md"], env=RELEASE)
    closing = re.findall(r"^(\d+) passed, (\d+) failed$",
                         (LOGS / f"{stage.name}.log").read_text(errors="replace"), re.MULTILINE)
    passed, failed = map(int, closing[-1]) if closing else (0, 1)
    return Count(passed, failed or int(not good))


def any_of(names):
    return f"^({'|'.join(names)})$"


def quick_stories(stage):
    """One seed of a few stories, held to their golden fingerprints."""
    named = [argument for story in QUICK_STORIES for argument in ("--story", story)]
    return once(stage, [BUILD / "release" / "bin" / "fleet_table", "--seeds", 1, "--golden",
                        "tests/sim/golden_fingerprints.txt", *named])


def tsan_stories(stage):
    """One seed of each story."""
    table = BUILD / "tsan" / "bin" / "fleet_table"
    return once(stage, *([table, "--seeds", 1, "--story", story] for story in TSAN_STORIES), env=tsan)


INTEGRATION = "tests/integration"
OWN_NETWORK = "tests/integration/own_network"


def asan(stage):
    """The environment of a stage that runs what the preset `asan` built."""
    return {"WEIR_BIN_DIR": str(BUILD / "asan" / "bin"), "WEIR_LOAD_SCALE": "0.3",
            "ASAN_OPTIONS": f"detect_leaks=1 log_path={reports_of(stage)}/finding",
            "UBSAN_OPTIONS": f"print_stacktrace=1 log_path={reports_of(stage)}/finding"}


def tsan(stage):
    """The same for the preset `tsan`."""
    return {"WEIR_BIN_DIR": str(BUILD / "tsan" / "bin"), "WEIR_LOAD_SCALE": "0.3",
            # Tests of forking programs start threads in the child.
            "TSAN_OPTIONS": f"halt_on_error=1 second_deadlock_stack=1 die_after_fork=0 "
                            f"log_path={reports_of(stage)}/race"}


def tsan_build(stage):
    return build("tsan", *TSAN_TARGETS, *threaded_unit_tests(BUILD / "release"), options=["-DWEIR_BUILD_BENCH=ON"])(stage)


def tsan_unit(stage):
    return ctest("tsan", "unit", only=any_of(threaded_unit_tests(BUILD / "release")), env=tsan)(stage)


# Those of them that do not judge by the clock.
TSAN_SOCKETS = ["net_socket_test", "cluster_driver_test", "admin_server_test",
                "proxy_forwarding_test", "embed_test"]
TSAN_STORIES = ["5x-3", "moving-3", "loss-3", "restart-5", "split-6"]
QUICK_STORIES = [*TSAN_STORIES, "flood-3"]
# What the sanitizers' builds make: no more than their stages run.
ASAN_TARGETS = ["weir", "weir_next", "weir-load", "weir-origin", "weir-flood", "unit_tests", "integration_tests"]
TSAN_TARGETS = ["weir", "weir-load", "weir-origin", "limiter_bench", "fleet_table", *TSAN_SOCKETS]
QUICK_TARGETS = ["weir", "weir-load", "weir-origin", "fleet_table", "unit_tests"]
# Which target has to find which bug of src/base/planted.h.
PLANTED_SECONDS = 300  # a machine to itself needs 15
PLANTED = {"clear_header": "datagram_fuzz", "safe_index": "datagram_fuzz",
           "entry_age": "datagram_fuzz", "request_version": "head_fuzz", "head_cut": "head_fuzz",
           "name_blank": "head_fuzz", "chunk_trailer": "head_fuzz", "yaml_alias": "quota_document_fuzz",
           "other_name": "admin_json_fuzz", "frame_replay": "bulk_fuzz",
           "snapshot_sum": "snapshot_fuzz"}
RELEASE = {"WEIR_BIN_DIR": str(BUILD / "release" / "bin"),
           "WEIR_BIN": str(BUILD / "release" / "bin" / "weir")}

STAGES = [
    # What computes; builds go before other stages, so that the lane beside waits less for them.
    Stage("build", "g++ release build of everything", BUILD_HANG_S, build("release")),
    Stage("generated", "what the build tree knows of the source: generated files, functions without a caller",
          HANG_S, ctest("release", "meta", only="generated|dead_code"), ["build"]),
    Stage("unit", "unit tests", HANG_S, ctest("release", "unit"), ["build"]),
    Stage("asan-build", "clang build with address and undefined behaviour sanitizers", BUILD_HANG_S,
          build("asan", *ASAN_TARGETS)),
    Stage("fuzz-build", "libFuzzer targets", BUILD_HANG_S, build("fuzz", "fuzzers")),
    Stage("tsan-build", "clang build with the thread sanitizer, of what the stages tsan-… run", BUILD_HANG_S,
          tsan_build, ["build"]),
    Stage("asan-unit", "unit tests under the sanitizers", HANG_S, ctest("asan", "unit"),
          ["asan-build"]),
    Stage("tsan-unit", "unit tests with threads under the thread sanitizer", HANG_S,
          without_reports(tsan_unit), ["tsan-build"]),
    Stage("sim", "simulator tests", HANG_S, ctest("release", "sim"), ["build"]),
    Stage("fuzz", f"each fuzz target for {FUZZ_SECONDS} s", HANG_S, fuzz, ["fuzz-build"]),
    Stage("planted", "each planted bug is found by its fuzz target", HANG_S, planted, ["fuzz-build"]),
    Stage("tidy", "clang-tidy", HANG_S, lambda stage: once(stage, ["scripts/tidy"])),
    # What waits.
    Stage("format", "clang-format", HANG_S, lambda stage: once(stage, ["scripts/format", "--check"]),
          beside=True),
    Stage("meta", "arrows, banned calls, listed files, docs", HANG_S, pytest("tests/meta"),
          beside=True),
    Stage("integration", "real processes, the CI subset", HANG_S,
          integration("not long", RELEASE), ["build"],
          beside=True),
    Stage("sockets", "module tests over real sockets", HANG_S, ctest("release", "integration", 1),
          ["build"],
          beside=True),
    Stage("demo", "the demo of the README, 105 s of load", HANG_S, demo, ["build"],
          beside=True),
    Stage("embedding", "libweir.so, its examples, one fleet of all kinds of members", HANG_S,
          pytest("tests/embedding", env=RELEASE), ["build"],
          beside=True),
    Stage("fleet", "what a small fleet sends and looks at, in counts", HANG_S,
          pytest("tests/bench/fleet", env=RELEASE), ["build"],
          beside=True),
    Stage("chart", "the Helm chart", HANG_S, pytest("tests/chart", env=RELEASE), ["build"],
          beside=True),
    Stage("asan-integration", "integration under the sanitizers, less load", HANG_S,
          without_reports(integration("smoke and not long", asan)),
          ["asan-build"],
          beside=True),
    Stage("asan-sockets", "module tests over real sockets under the sanitizers", HANG_S,
          ctest("asan", "integration", 1), ["asan-build"],
          beside=True),
    Stage("tsan-sockets", "module tests with threads under the thread sanitizer", HANG_S,
          without_reports(ctest("tsan", "integration", 1, any_of(TSAN_SOCKETS), tsan)), ["tsan-build"],
          beside=True),
    Stage("tsan-integration", "a sidecar of four workers and a fleet under the thread sanitizer", HANG_S,
          without_reports(integration("races", tsan)), ["tsan-build"],
          beside=True),
    Stage("image", "the Dockerfile, built, and a request through the container", HANG_S,
          pytest("tests/image", env=RELEASE), ["build"],
          beside=True),
    Stage("package", "the Debian package: installed, run, removed in a fresh Debian", HANG_S,
          pytest("tests/package", env=RELEASE), ["build"],
          beside=True),
    # What computes with one process, at the end, when nothing is left that waits.
    Stage("tsan-sim", "a part of the simulator under the thread sanitizer", HANG_S,
          without_reports(tsan_stories), ["tsan-build"],
          beside=True),
    Stage("tsan-bench", "two threads on the same limits under the thread sanitizer", HANG_S,
          without_reports(lambda stage: once(stage, [BUILD / "tsan/bin/limiter_bench", 1, "threads", 2000],
                                       env=tsan)), ["tsan-build"],
          beside=True),
    # Only when they are named.
    Stage("quick-build", "g++ release build of what the next four run", 1800,
          build("release", *QUICK_TARGETS), in_ci=False),
    Stage("quick-unit", "unit tests", 600, ctest("release", "unit"), ["quick-build"], in_ci=False),
    Stage("quick-sim", "one seed of six stories", 120, quick_stories, ["quick-build"], in_ci=False),
    Stage("quick-integration", "ten integration tests", 300,
          integration("quick", RELEASE), ["quick-build"], in_ci=False,
          beside=True),
    Stage("quick-demo", "the demo of the README and its verdict", 240, demo, ["quick-build"], in_ci=False,
          beside=True),
    Stage("long", "integration tests that are too long for CI", 9000,
          pytest(INTEGRATION, "-m", "long", "--ignore", f"{INTEGRATION}/test_websocket.py", env=RELEASE), ["build"],
          in_ci=False, beside=True),
    Stage("websocket", "every case of WebSocket, ours and Autobahn's, directly and through weir", 7200,
          pytest(f"{INTEGRATION}/test_websocket.py", "-m", "long", env=RELEASE), ["build"], in_ci=False,
          beside=True),
    Stage("matrix", "every case of the integration matrix", 7200, matrix, ["build"], in_ci=False,
          beside=True),
]
# A name for several stages.
GROUPS = {"quick": ["quick-build", "quick-unit", "quick-sim", "quick-integration", "quick-demo"]}


def select(names):
    """The named stages and what they need; all of CI's when none is named."""
    known = {stage.name: stage for stage in STAGES}
    names = [stage for name in names for stage in GROUPS.get(name, [name])]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"unknown stage {unknown[0]}; there are: {', '.join([*known, *GROUPS])}")
    wanted = set(names or [stage.name for stage in STAGES if stage.in_ci])
    for stage in reversed(STAGES):  # what a stage needs stands before it
        if stage.name in wanted:
            wanted.update(stage.needs)
    return [stage for stage in STAGES if stage.name in wanted]


def print_tail(path):
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    shown = [re.sub(r"\s+$", "", line) for line in lines[-TAIL_LINES:]]
    print(f"--- the end of {os.path.relpath(path, ROOT)}")
    print("\n".join("    " + line for line in shown), flush=True)


class Run:
    """Two threads, one for each lane, that go through their stages in the order of the list."""

    def __init__(self, stages):
        self.stages, self.total = stages, Count()
        self.ended, self.failed = set(), set()
        self.changed = threading.Condition()

    def all_stages(self):
        lanes = [threading.Thread(target=self.lane, args=(beside,), daemon=True) for beside in (False, True)]
        try:
            for lane in lanes:
                lane.start()
            for lane in lanes:
                lane.join()
        except BaseException:
            end_all()  # the commands have sessions of their own, which Ctrl-C does not reach
            raise
        return self.total

    def lane(self, beside):
        for stage in self.stages:
            if stage.beside != beside:
                continue
            with self.changed:
                self.changed.wait_for(lambda needs=stage.needs: self.ended.issuperset(needs))
            try:
                count, note = self.run(stage)
            except Exception:
                traceback.print_exc()
                count, note = Count(failed=1), "the error above is of its runner"
            self.note(stage, count, note)

    def run(self, stage):
        blocked = [name for name in stage.needs if name in self.failed]
        if blocked:
            return Count(failed=1), f"not run, for {blocked[0]} failed"
        print(f"{stage.name}: {stage.what} …", flush=True)
        (LOGS / f"{stage.name}.log").unlink(missing_ok=True)
        started = time.monotonic()
        stage.deadline = started + stage.timeout_s
        count = stage.run(stage)
        note = f"{count.skipped} skipped, " if count.skipped else ""
        return count, f"{note}{time.monotonic() - started:.0f} s, {stage.processor_seconds:.0f} s of processor"

    def note(self, stage, count, note):
        with self.changed:
            self.total.passed += count.passed
            self.total.failed += count.failed
            self.total.skipped += count.skipped
            self.total.reasons += [f"{stage.name}: {reason}" for reason in count.reasons]
            if count.failed:
                self.failed.add(stage.name)
            self.ended.add(stage.name)
            self.changed.notify_all()
            print(f"{stage.name}: {count.passed} passed, {count.failed} failed ({note})", flush=True)
            if count.failed:
                print_tail(LOGS / f"{stage.name}.log")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for stage in STAGES:
            print(f"{stage.name:18} {stage.what}{'' if stage.in_ci else ' (not in CI)'}")
        for name, stages in GROUPS.items():
            print(f"{name:18} short for: {' '.join(stages)}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    total = Run(select(options.stages)).all_stages()
    tell_end(total)
    return 1 if total.failed else 0


def tell_end(total):
    """What was skipped, where nobody can overlook it, and the closing line."""
    for reason in total.reasons:
        print(f"SKIPPED {reason}")
    if total.skipped:
        print(f"{total.skipped} skipped, for the reasons above")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)


if __name__ == "__main__":
    sys.exit(main())
