"""Free ports below the kernel's ephemeral range, so that no client connection can take the port of
a sidecar that is just being restarted. Each belongs to one test process until that ends, whatever
else runs beside it: parallel workers, tests of another tree."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

FIRST, LAST = 10_000, 32_000
# A port is held by a lock on the byte of its number.
HELD = Path(tempfile.gettempdir()) / f"weir-test-ports-{os.getuid()}"

_used = set()
_locks = None


def _is_free(port):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def _hold(port):
    """Whether no other process held it. The file is opened once: closing it would free all ports."""
    global _locks
    if _locks is None:
        _locks = os.open(HELD, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(_locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def free_port():
    """A port that is free for TCP and UDP and is not given twice: not by this process, and by no
    other one while this one lives."""
    for _ in range(1000):
        port = random.randrange(FIRST, LAST)
        if port not in _used and _hold(port):
            _used.add(port)
            if _is_free(port):
                return port
    raise RuntimeError("no free port")
