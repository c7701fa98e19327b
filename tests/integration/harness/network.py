"""Cuts gossip off with nftables and heals it, and captures it. Both need root or sudo."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

_numbers = count()


def as_root(*command):
    """The command, run as root; RuntimeError saying what is missing."""
    if os.geteuid() == 0:
        return list(command)
    if not shutil.which("sudo"):
        raise RuntimeError("cutting UDP off needs root: run the tests as root, or install sudo")
    return ["sudo", "-n", *command]


def nft():
    if not shutil.which("nft") and not os.path.exists("/usr/sbin/nft"):
        raise RuntimeError("nft is missing: scripts/install-deps --tests")
    return as_root(shutil.which("nft") or "/usr/sbin/nft")


def run_nft(script):
    """All of the script or nothing of it, at once."""
    arguments = [*nft(), "-f", "-"]
    done = subprocess.run(arguments, input=script, capture_output=True, text=True, timeout=10)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()} (cutting UDP off needs "
                           "root, or sudo without a password)")


class Cut:
    """While entered, every UDP packet from and to the ports is dropped."""

    def __init__(self, *ports):
        self.ports = ", ".join(map(str, ports))
        self.table = f"inet weir_test_{os.getpid()}_{ports[0]}"

    def __enter__(self):
        run_nft(f"""table {self.table} {{
            chain out {{
                type filter hook output priority 0; policy accept;
                udp sport {{ {self.ports} }} drop
                udp dport {{ {self.ports} }} drop
            }}
        }}""")
        return self

    def __exit__(self, *_):
        run_nft(f"delete table {self.table}")


def ports_of(sidecars):
    return ", ".join(str(one.gossip_port) for one in sidecars)


class OneWay:
    """While entered, what the ones send to the others is lost on its way: senders see no error."""

    def __init__(self, senders, receivers):
        self.pairs = [(senders, receivers)]
        self.table = f"inet weir_test_{os.getpid()}_way_{next(_numbers)}"

    def __enter__(self):
        rules = "\n".join(f"udp sport {{ {ports_of(senders)} }} udp dport {{ {ports_of(receivers)} }} drop"
                          for senders, receivers in self.pairs)
        run_nft(f"""table {self.table} {{
            chain in {{
                type filter hook input priority 0; policy accept;
                {rules}
            }}
        }}""")
        return self

    def __exit__(self, *_):
        run_nft(f"delete table {self.table}")


class Split(OneWay):
    """While entered, nothing passes between the two sides."""

    def __init__(self, one_side, other_side):
        super().__init__(one_side, other_side)
        self.pairs.append((other_side, one_side))


class Loss:
    """While entered, so many of a hundred packets that the sidecars send each other are lost, by chance."""

    def __init__(self, sidecars, percent):
        self.ports = ports_of(sidecars)
        self.percent = percent
        self.table = f"inet weir_test_{os.getpid()}_loss_{next(_numbers)}"

    def __enter__(self):
        run_nft(f"""table {self.table} {{
            chain in {{
                type filter hook input priority 0; policy accept;
                udp dport {{ {self.ports} }} numgen random mod 100 < {self.percent} counter drop
            }}
        }}""")
        return self

    def lost(self):
        """How many packets have been lost so far."""
        listed = subprocess.run([*nft(), "list", "table", *self.table.split()], capture_output=True, text=True,
                                timeout=10, check=True).stdout
        return int(re.search(r"counter packets (\d+)", listed)[1])

    def __exit__(self, *_):
        run_nft(f"delete table {self.table}")


def udp_drops(port):
    """What the kernel threw away because the socket bound to the port had no room."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines if line.split()[1].endswith(f":{port:04X}")]
    assert rows, f"nobody listens on UDP port {port}"
    return sum(int(row[-1]) for row in rows)


@dataclass
class Captured:
    source_port: int
    target_port: int
    data: bytes


def capture(seconds, *sidecars):
    """What is sent to the sidecars' gossip ports meanwhile."""
    program = [sys.executable, Path(__file__).with_name("sniff.py"), str(seconds),
               *(str(one.gossip_port) for one in sidecars)]
    done = subprocess.run(as_root(*program), capture_output=True, text=True, timeout=seconds + 30)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        raise RuntimeError(f"capturing failed: {done.stderr.strip()}")
    rows = (line.split(" ") for line in lines[1:])
    return [Captured(int(source), int(target), bytes.fromhex(data)) for source, target, data in rows]
