"""Free ports below the kernel's ephemeral range, so that no client connection can take the port of
a sidecar that is just being restarted. Parallel test workers draw from ranges of their own."""

import os
import random
import socket

FIRST, LAST = 10_000, 32_000
WORKERS = 8


def _range():
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % WORKERS
    width = (LAST - FIRST) // WORKERS
    return FIRST + worker * width, FIRST + (worker + 1) * width


_used = set()


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


def free_port():
    """A port that is free for TCP and UDP and is not given twice by this process."""
    first, last = _range()
    for _ in range(1000):
        port = random.randrange(first, last)
        if port not in _used and _is_free(port):
            _used.add(port)
            return port
    raise RuntimeError("no free port")
