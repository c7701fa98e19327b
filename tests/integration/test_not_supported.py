"""What docs/not-supported.md says that happens instead."""

import socket
import subprocess

import pytest

from harness import http
from harness.paths import program
from harness.sidecar import quota


def weir(*arguments):
    return subprocess.run([program("weir"), *arguments], capture_output=True, text=True, timeout=30)


def first_line(address, request):
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(request)
        return client.makefile("rb").readline().decode().strip()


@pytest.mark.smoke
def test_protocols_that_are_not_spoken(world):
    address = world.fleet(1, [quota("all", "1000r/s")], routes=[{"quota": "all"}])[0].address
    host = b"Host: a.test\r\n"
    hello = bytes.fromhex("16030100050100000100")  # the beginning of a TLS handshake
    assert first_line(address, hello + b"\r\n\r\n").startswith("HTTP/1.1 400 ")
    assert first_line(address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").startswith("HTTP/1.1 505 ")
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    assert first_line(address, b"GET / HTTP/1.1\r\n" + host + upgrade + b"\r\n").startswith("HTTP/1.1 200 ")
    other_upgrade = b"Connection: Upgrade\r\nUpgrade: TLS/1.2, h2c\r\n"
    assert first_line(address, b"GET / HTTP/1.1\r\n" + host + other_upgrade + b"\r\n").startswith("HTTP/1.1 501 ")
    for method in (b"CONNECT", b"TRACE"):
        assert first_line(address, method + b" / HTTP/1.1\r\n" + host + b"\r\n").startswith("HTTP/1.1 405 ")
    proxy = b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET / HTTP/1.1\r\n" + host + b"\r\n"
    assert first_line(address, proxy).startswith("HTTP/1.1 400 ")


def test_settings_and_quotas_that_are_not_in_this_version(folder):
    done = weir("validate", "--upstream", "https://app:443")
    assert done.returncode == 1 and "asks for TLS to the upstream" in done.stderr
    for limit in ("lease: 5r/s",):
        path = folder / "quotas.yaml"
        path.write_text(f"apiVersion: weir/v1\nkind: QuotaSet\nname: a\nquotas:\n  - {{name: a, limits: [{{{limit}}}]}}\n")
        done = weir("validate", path)
        assert done.returncode == 1 and "not in this version" in done.stderr


@pytest.mark.parametrize("command", ["simulate", "top", "inject"])
def test_commands_that_are_not_in_this_version(command):
    done = weir(command)
    assert done.returncode == 2 and "is not in this version" in done.stderr
