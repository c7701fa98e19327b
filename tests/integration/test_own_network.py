"""The harness itself: pytest's workers have a network each, so that no test meets another one's ports or cuts."""

import os
import subprocess
import sys

import pytest

from harness.network import Cut
from harness.paths import ROOT
from harness.ports import free_port

pytestmark = pytest.mark.smoke

OWN_NETWORK = ROOT / "tests" / "integration" / "own_network"
# Listens on the port until its input ends, and reaches itself there meanwhile.
LISTENER = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
print(os.getuid(), os.environ["OF_THE_CALLER"], flush=True)
sys.stdin.read()
"""
# Sends itself a datagram and says whether it has come.
UDP = """
import socket, sys
ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ours.bind(("127.0.0.1", int(sys.argv[1])))
ours.settimeout(2)
try:
    ours.sendto(b"x", ours.getsockname())
    print(ours.recv(10).decode())
except OSError as failure:
    print(type(failure).__name__)
"""


def begin(*arguments):
    return subprocess.Popen([OWN_NETWORK, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "OF_THE_CALLER": "kept"})


@pytest.fixture
def own_network():
    tried = subprocess.run([OWN_NETWORK, "-c", ""], capture_output=True, text=True, timeout=30)
    if tried.returncode != 0:
        pytest.skip(tried.stderr.strip())
    return begin


def test_two_listen_on_one_port_at_the_same_time_as_the_user_who_began_them(own_network):
    port = str(free_port())
    both = [own_network("-c", LISTENER, port) for _ in range(2)]
    assert [one.stdout.readline().split() for one in both] == [[str(os.getuid()), "kept"]] * 2
    for one in both:
        one.communicate(timeout=30)
    assert [one.returncode for one in both] == [0, 0]


def test_a_cut_in_one_network_cuts_nothing_in_another(own_network):
    port = free_port()
    with Cut(port):
        here = subprocess.run([sys.executable, "-c", UDP, str(port)], capture_output=True, text=True, timeout=30)
        there, _ = own_network("-c", UDP, str(port)).communicate(timeout=30)
    assert here.stdout.strip() in ("PermissionError", "TimeoutError")
    assert there.strip() == "x"


def test_the_end_of_the_program_is_the_end_told(own_network):
    ended = own_network("-c", "import sys; sys.exit(7)")
    ended.communicate(timeout=30)
    assert ended.returncode == 7


# Notes its command line and, like sudo, runs what comes after the flags without an environment.
SUDO = """#!/usr/bin/python3
import os, sys
with open(os.path.dirname(__file__) + "/command-lines", "a") as log:
    print(*sys.argv, file=log)
command = [word for word in sys.argv[1:] if word not in ("-n", "--")]
os.execvpe(command[0], command, {"PATH": "/usr/bin:/bin"})
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the sudo of this test gives nobody any rights")
def test_sudo_s_command_line_has_nothing_of_the_environment(tmp_path):
    sudo = tmp_path / "sudo"
    sudo.write_text(SUDO)
    sudo.chmod(0o755)
    left = tmp_path / "left"
    left.mkdir()
    environment = {**os.environ, "OF_THE_CALLER": "kept=\nas it is", "TMPDIR": str(left),
                   "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    shown = subprocess.run([sys.executable, "-c", f"""
program = {{"__name__": "own_network", "__file__": {str(OWN_NETWORK)!r}}}
exec(compile(open(program["__file__"]).read(), program["__file__"], "exec"), program)
program["ask_sudo"](["-c", "import os; print(os.environ['OF_THE_CALLER'])"])
"""], capture_output=True, text=True, timeout=30, env=environment)
    assert (shown.returncode, shown.stdout) == (0, "kept=\nas it is\n"), shown.stderr
    assert "kept" not in (tmp_path / "command-lines").read_text()
    assert list(left.iterdir()) == []  # the file has gone


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not")
def test_who_may_not_is_told_why():
    nobody = 65534
    tried = subprocess.run([sys.executable, "-c", f"""
import os, sys
program = open({str(OWN_NETWORK)!r}).read()
os.environ["PATH"] = "/nowhere"  # no sudo there
os.setgid({nobody}); os.setuid({nobody})
sys.argv = ["own_network", "-c", ""]
exec(compile(program, "own_network", "exec"), {{"__name__": "__main__", "__file__": "own_network"}})
"""], capture_output=True, text=True, timeout=30)
    assert tried.returncode == 1
    assert tried.stderr.startswith("no network namespace, which takes root")
