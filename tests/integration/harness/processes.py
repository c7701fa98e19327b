"""Processes that end with the test, with their output in a file, and what they cost."""

import ctypes
import os
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL("libc.so.6", use_errno=True)


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One started program; standard error goes to `log`, standard output too unless piped."""

    def __init__(self, arguments, log, pipe_output=False, pipe_input=False, env=None, cwd=None):
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
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

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def kill(self):
        if self.running():
            self.popen.kill()
        self.popen.wait()
        self._close_pipes()

    def terminate(self, timeout_s=30):
        """SIGTERM, then waits; returns the exit code."""
        if self.running():
            self.popen.terminate()
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

    def cpu_ns(self):
        """Run time of all threads, from the scheduler."""
        return cpu_ns(self.pid)

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0


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
