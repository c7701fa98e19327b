"""Processes that end with the test, with their output in a file, and what they cost."""

import ctypes
import os
import signal
import subprocess
import threading
import time

from .paths import BIN

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL("libc.so.6", use_errno=True)


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One started program; standard error goes to `log`, standard output too unless piped.

    `judged`: it has to end well (see bad_endings); by itself it is when it was built here.
    """

    started = []  # those that no bad_endings() has looked at
    _lock = threading.Lock()

    def __init__(self, arguments, log, pipe_output=False, pipe_input=False, env=None, cwd=None, judged=None):
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        self.asked_to_end = self.killed = False
        self.judged = any(argument.startswith(f"{BIN}/") for argument in self.arguments) if judged is None else judged
        with open(log, "ab") as file:
            self.popen = subprocess.Popen(
                self.arguments,
                stdin=subprocess.PIPE if pipe_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe_output else file,
                stderr=file,
                preexec_fn=die_with_parent,
                env=env,
                cwd=cwd,
            )
        with self._lock:
            self.started.append(self)

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def kill(self):
        if self.running():
            self.killed = True
            self.popen.kill()
        self.popen.wait()
        self._close_pipes()

    def ask_to_end(self):
        """SIGTERM, once: weir takes a second one for the wish to end at once, with 1."""
        if self.running() and not self.asked_to_end:
            self.asked_to_end = True
            self.popen.terminate()

    def terminate(self, timeout_s=30):
        """SIGTERM, then waits; returns the exit code."""
        self.ask_to_end()
        try:
            return self.popen.wait(timeout=timeout_s)
        finally:
            self.kill()

    def _close_pipes(self):
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe:
                try:
                    pipe.close()
                except (BrokenPipeError, ValueError):
                    pass

    def bad_ending(self):
        """How it ended if that is not well, in words; who was killed on purpose may end so. What still
        runs has not ended well, and ends now."""
        if self.killed or not self.judged:
            self.kill()
            return None
        if self.running():
            self.kill()
            return f"{self.told()} was still running"
        code = self.popen.wait()
        return None if code == 0 else f"{self.told()} ended with {code}; its log ends with\n{self.log_tail()}"

    def told(self):
        return f"{' '.join(self.arguments)} (process {self.pid})"

    def log_tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def cpu_ns(self):
        """Run time of all threads, from the scheduler."""
        return cpu_ns(self.pid)

    def waited_s(self):
        """Seconds in which the first thread, of weir the control thread, could have run and had no core: what
        else the machine does."""
        with open(f"/proc/{self.pid}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0


def bad_endings(folder):
    """How those that log below the folder ended badly, in words; each is looked at once. A sanitizer
    tells of leaks when a program ends, and tells it by the exit code."""
    with Process._lock:
        mine = [one for one in Process.started if folder in one.log.parents]
        Process.started = [one for one in Process.started if one not in mine]
    return [told for told in map(Process.bad_ending, mine) if told]


def cpu_ns(pid):
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass  # the thread ended meanwhile
    return total


def wait_equal(read, expected, what, timeout_s=20):
    """Until `read()` is `expected`, for what is counted a moment after it can be seen."""
    value = read()
    end = time.monotonic() + timeout_s
    while value != expected and time.monotonic() < end:
        time.sleep(0.02)
        value = read()
    assert value == expected, what


def wait_until(condition, timeout_s, what, every_s=0.02):
    """The condition's first true value; TimeoutError naming `what` otherwise."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout_s} s: {what}")
        time.sleep(every_s)
