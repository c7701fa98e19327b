"""Runs a command of a stage of CI with a time limit, at the priority of the stage's lane."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRESS_S = 15
POLL_S = 0.05
AUTOGROUP_TRIES = 20
RUNNING = set()  # the sessions of commands that run
TIMES = threading.Lock()  # two commands of a stage may end at the same time


def run_limited(stage, arguments, log, env):
    """Runs the command for a stage: until its deadline, in a session of its own, so that nothing that it
    started outlives it. While it runs, prints the last line of its log. True when it succeeded."""
    priority = [] if stage.beside else ["nice", "-n", "19"]
    process = subprocess.Popen([*priority, *[str(argument) for argument in arguments]], cwd=ROOT,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                               start_new_session=True, env={**os.environ, **(env or {})})
    RUNNING.add(process.pid)
    if not stage.beside:
        lower_priority_of_session(process.pid)
    try:
        told = time.monotonic()
        while time.monotonic() < stage.deadline:
            if has_ended(process, stage):
                return process.returncode == 0
            if time.monotonic() - told >= PROGRESS_S:
                print(f"    {stage.name}: {last_line(log.name)}", flush=True)
                told = time.monotonic()
            time.sleep(POLL_S)
        log.write(b"the stage's time is over\n")
        return False
    finally:
        end(process.pid)
        process.wait()
        RUNNING.discard(process.pid)


def has_ended(process, stage):
    """Whether the command has ended. Its processor time, with that of all that it waited for, is the stage's."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return False
    process.returncode = os.waitstatus_to_exitcode(status)
    with TIMES:
        stage.processor_seconds += usage.ru_utime + usage.ru_stime
    return True


def end(session):
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    """Ends all commands that run."""
    for session in list(RUNNING):
        end(session)


def lower_priority_of_session(session):
    """Where Linux groups processes by session, a process's own priority counts only within its session, and
    the session has a priority, too. Without root, Linux takes one change in a tenth of a second."""
    for _ in range(AUTOGROUP_TRIES):
        try:
            Path(f"/proc/{session}/autogroup").write_text("19")
            return
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            return  # the command has ended already, or this kernel does not group


def last_line(path):
    """What a program wrote last, as far as it fits on a line: ninja's counts its steps."""
    with open(path, "rb") as log:
        log.seek(max(0, os.path.getsize(path) - 4096))
        lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip()[:90] for line in reversed(lines) if line.strip()), "…")
