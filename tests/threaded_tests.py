"""Which unit tests the thread sanitizer has something to find in."""

import re
import subprocess


def can_start_threads(symbols):
    """Whether a program may have a second thread, by what `nm` says that it takes from libraries."""
    return re.search(r" U (pthread_create|_ZNSt6thread15_M_start_thread)", symbols) is not None


def threaded_unit_tests(built):
    """The unit tests whose programs in this build may have a second thread. In the others the thread sanitizer has
    nothing to find; whoever gives one of them a thread finds it here by itself."""
    listed = subprocess.run(["ctest", "--test-dir", built, "-N", "-L", "unit"], check=True,
                            capture_output=True, text=True).stdout
    names = re.findall(r"Test +#\d+: (\S+)", listed)
    chosen = [name for name in names if can_start_threads(subprocess.run(
        ["nm", "-D", "--undefined-only", built / "bin" / name], check=True, capture_output=True,
        text=True).stdout)]
    if "limiter_test" not in chosen:
        raise RuntimeError(f"of {names} only {chosen} start threads, and the limiter's test does")
    return chosen
