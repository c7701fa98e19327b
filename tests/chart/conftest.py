"""The helm program: WEIR_HELM names it; else scripts/install-helm builds it."""

import os
import subprocess

import pytest

from rendered import ROOT


@pytest.fixture(scope="session")
def helm():
    program = os.environ.get("WEIR_HELM")
    if not program:
        done = subprocess.run([ROOT / "scripts" / "install-helm"], check=True, timeout=900,
                              stdout=subprocess.PIPE, text=True)
        program = done.stdout.strip().splitlines()[-1]

    def run(*arguments, ok=True):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout if ok else done.stdout + done.stderr

    return run
