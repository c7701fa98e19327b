"""The library as it is installed, the examples built against it, and a fleet of all of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness.paths import BIN, RUNS  # noqa: E402
from harness.processes import bad_endings  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
BUILD = BIN.parent


def run(*arguments, timeout_s=300, **options):
    """Runs a command; its output is shown when it fails."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=timeout_s, **options)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


class Installed:
    """`cmake --install` into a prefix of its own, and how to build and run against it."""

    def __init__(self, prefix):
        self.prefix = prefix
        shutil.rmtree(prefix, ignore_errors=True)
        run("cmake", "--install", BUILD, "--component", "library", "--prefix", prefix)
        self.library = prefix / "lib"
        self.environment = {
            **os.environ,
            "PKG_CONFIG_PATH": str(self.library / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.library),
            "GOCACHE": str(ROOT / "build" / "tools" / "go-cache"),
            "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "1",
        }

    def run(self, *arguments, **options):
        return run(*arguments, env=self.environment, **options)


@pytest.fixture(scope="session")
def installed():
    return Installed(RUNS / "embedding" / "prefix")


@pytest.fixture(scope="session")
def built(installed):
    """Where the examples' programs lie: check (C), limited-client (C++), limited (Go)."""
    programs = RUNS / "embedding" / "programs"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir(parents=True)
    flags = installed.run("pkg-config", "--cflags", "--libs", "weir").split()
    installed.run("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                  EXAMPLES / "c" / "check.c", "-o", programs / "check", *flags)
    cpp = programs / "cpp"
    installed.run("cmake", "-S", EXAMPLES / "cpp", "-B", cpp, "-G", "Ninja",
                  f"-DCMAKE_PREFIX_PATH={installed.prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    installed.run("cmake", "--build", cpp)
    shutil.copy(cpp / "limited-client", programs / "limited-client")
    go = run(ROOT / "scripts" / "install-go").strip()
    installed.run(go, "build", "-o", programs / "limited", ".", cwd=EXAMPLES / "go")
    return programs


@pytest.fixture
def folder(request):
    """A fresh folder for logs and configuration; the processes that log there have to end well."""
    path = RUNS / "embedding" / request.node.name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    assert bad_endings(path) == []
