"""Cuts a sidecar's gossip off with nftables (root), and heals it."""

import os
import shutil
import subprocess


def can_cut():
    return os.geteuid() == 0 and shutil.which("nft") is not None


class Cut:
    """While entered, every UDP packet from and to the port is dropped."""

    def __init__(self, port):
        self.port = port
        self.table = f"weir_test_{os.getpid()}_{port}"

    def _nft(self, *words, check=True):
        subprocess.run(["nft", *words], check=check, capture_output=True, text=True, timeout=10)

    def __enter__(self):
        self._nft("add", "table", "inet", self.table)
        self._nft("add", "chain", "inet", self.table, "out",
                  "{ type filter hook output priority 0; policy accept; }")
        for side in ("sport", "dport"):
            self._nft("add", "rule", "inet", self.table, "out", "udp", side, str(self.port), "drop")
        return self

    def __exit__(self, *_):
        self._nft("delete", "table", "inet", self.table, check=False)
