"""`weir run --check` refuses what `weir run` would refuse, for the same reason."""

import socket

import pytest

from test_command_line import config, free_port, weir  # noqa: F401


@pytest.fixture
def taken():
    """A UDP port in use."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{other.getsockname()[1]}"


# Flags, and what both have to say. {folder} has a file `brief`, {taken} is a port in use, {free} one that is not.
REFUSED = {
    "token-missing": (["--admin-token-file", "{folder}/none"], "cannot read the token file"),
    "token-brief": (["--admin-token-file", "{folder}/brief"], "a token of 16 to 1024 characters"),
    "admin-open": (["--admin", "0.0.0.0:{free}"], "that needs 'admin_token_file'"),
    "listen-twice": (["--status", "127.0.0.1:{free}", "--listen", "127.0.0.1:{free}"], "is the address of"),
    "listen-elsewhere": (["--listen", "192.0.2.1:{free}"], "listen: cannot listen on 192.0.2.1"),
    "check-open": (["--check-listen", "0.0.0.0:{free}"], "that needs 'check.clients'"),
    "check-elsewhere": (["--check-listen", "192.0.2.1:{free}", "--check-clients", "192.0.2.0/24"], "check.listen: "),
    "gossip-port-taken": (["--cluster-insecure", "--cluster-listen", "{taken}"], "cluster.listen: "),
    "gossip-elsewhere": (["--cluster-insecure", "--cluster-listen", "192.0.2.1:{free}"], "cluster.listen: "),
    "gossip-to-nowhere": (["--cluster-insecure", "--cluster-listen", "127.0.0.1:{free}",
                           "--cluster-advertise", "0.0.0.0:1"], "cluster.advertise: peers cannot send to 0.0.0.0:1"),
    "key-missing": (["--cluster-key-file", "{folder}/none", "--cluster-listen", "127.0.0.1:{free}"],
                    "cannot open the key file"),
    "log-is-a-folder": (["--access-log", "all", "--access-log-file", "{folder}"], "access_log_file: cannot open"),
    "socket-without-folder": (["--listen", "unix:{folder}/none/weir.sock"], "listen: cannot listen on unix:"),
    "socket-too-long": (["--listen", "unix:/" + "x" * 120], "is longer than the 107 bytes"),
    "bad-route": (["--route", "/**"], "--route"),
    "anchor-without-fleet": (["--role", "anchor"], "give it 'cluster', with 'join' and the fleet's 'key_file'"),
    "anchor-gossip-taken": (["--role", "anchor", "--cluster-insecure", "--cluster-listen", "{taken}"], "cluster.listen: "),
    "role-misspelt": (["--role", "anchr"], "did you mean 'anchor'?"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_check_and_run_refuse_alike(config, taken, case):  # noqa: F811
    (config.parent / "brief").write_text("short\n")
    flags, reason = REFUSED[case]
    free = free_port()
    flags = [flag.format(folder=config.parent, taken=taken, free=free) for flag in flags]
    for command in (["run", "--check"], ["run"]):
        done = weir(*command, "--config", config, *flags)
        assert done.returncode == 1, (command, done.stdout)
        assert reason in done.stderr, (command, done.stderr)


def test_of_an_anchor_only_what_it_opens_is_checked(config):  # noqa: F811
    flags = ["--cluster-insecure", "--cluster-listen", f"127.0.0.1:{free_port()}",
             "--listen", "unix:/no/such/folder/weir.sock", "--access-log", "all", "--access-log-file", "/no/such/folder/log"]
    done = weir("run", "--check", "--config", config, *flags)
    assert done.returncode == 1
    assert "listen: " in done.stderr and "access_log_file: " in done.stderr
    done = weir("run", "--check", "--config", config, *flags, "--role", "anchor")
    assert done.returncode == 0, done.stderr
    assert "warning: snapshot.file: " in done.stderr
