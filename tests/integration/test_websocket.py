"""WebSocket through weir: every case is answered as by the server itself, and what tunnels cost and show."""

import os
import re
import socket
import time

import pytest

from harness import http
from harness.hosts import need, port_of
from harness.paths import ROOT
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.sidecar import quota
from websocket import cases, client, frames, suite
from websocket.frames import TEXT, close, frame

PLENTY = [quota("all", "100000r/s")]


def echo_server(world, *most_bytes):
    """`most_bytes`: of a message; longer ones are answered with a close."""
    world.folder.mkdir(exist_ok=True)
    log = world.folder / "echo.log"
    server = Process(["/usr/bin/python3", ROOT / "tests/integration/websocket/echo.py", *most_bytes], log,
                     pipe_output=True)
    world.ending.callback(server.terminate)
    return f"127.0.0.1:{server.popen.stdout.readline().decode().strip()}"


def sidecar_before(world, address, quotas=None, **settings):
    sidecar, = world.fleet(1, quotas or PLENTY, routes=[{"quota": "all"}],
                           settings={"upstream": f"http://{address}", **settings})
    return sidecar


def event(sidecar, name):
    return sidecar.metric("weir_proxy_events_total", event=name)


def compare(chosen, direct, proxied):
    found = []
    for case in chosen:
        own = client.play(case, direct)
        found += [f"{case.name}: directly {problem}" for problem in client.problems(case, own)]
        found += [f"{case.name}: {difference}"
                  for difference in client.differences(case, own, client.play(case, proxied))]
    print(f"{len(chosen)} cases, each directly and through weir")
    assert found == [], "\n".join(found)


@pytest.mark.smoke
def test_some_of_all_cases_are_answered_as_without_weir(world):
    server = echo_server(world)
    sidecar = sidecar_before(world, server)
    chosen = cases.subset()
    compare(chosen, server, sidecar.address)
    wait_until(lambda: sidecar.metric("weir_tunnels") == 0, 20, "all tunnels have ended")
    assert event(sidecar, "tunnel_opened") == len(chosen)
    assert sidecar.metric("weir_requests_total", outcome="admitted") == len(chosen)


@pytest.mark.long
def test_all_cases_are_answered_as_without_weir(world):
    server = echo_server(world)
    compare(cases.all_cases(whole=True), server, sidecar_before(world, server).address)


def compare_by_autobahn(world, chosen, least, timeout_s):
    server = echo_server(world)
    sidecar = sidecar_before(world, server)
    played, differing, failed = suite.compare(world.folder / "autobahn", server, sidecar.address, chosen, timeout_s)
    print(f"{played} cases of Autobahn's suite, each directly and through weir")
    assert played >= least and differing == {} and failed == []
    assert event(sidecar, "tunnel_opened") >= played


def test_some_cases_of_autobahn_are_as_without_weir(world):
    compare_by_autobahn(world, suite.SOME, 111, 240)


def test_autobahn_tells_a_server_that_differs(world):
    """Without this the comparison could find nothing because it plays nothing."""
    strict = echo_server(world, "100")
    played, differing, failed = suite.compare(world.folder / "autobahn", echo_server(world), strict,
                                              ["1.1.1", "1.1.6"], 120)
    assert (played, set(differing), failed) == (2, {"1.1.6"}, [])


@pytest.mark.long
def test_all_cases_of_autobahn_are_as_without_weir(world):
    compare_by_autobahn(world, suite.ALL, 500, 5400)


def test_a_tunnel_is_one_request_and_shows(world):
    server = echo_server(world)
    log = world.folder / "access.log"
    sidecar = sidecar_before(world, server, [quota("all", "1r/600s")], access_log="all", access_log_file=str(log))
    connection, status, _, _ = client.open_tunnel(sidecar.address)
    assert status.split()[1] == "101"
    for _ in range(20):
        connection.sendall(frame(TEXT, b"x" * 100))
        assert len(connection.recv(102, socket.MSG_WAITALL)) == 102
    assert sidecar.metric("weir_tunnels") == sidecar.metric("weir_inflight_requests") == 1
    # The second one is refused, and the connection goes on as one of HTTP.
    second = client.connect(sidecar.address)
    second.sendall(client.request() + b"GET /plain HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
    answers = b"".join(iter(lambda: second.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 429 ") == 2
    connection.sendall(close())
    assert connection.recv(65536)
    connection.close()
    wait_until(lambda: sidecar.metric("weir_inflight_requests") == 0, 20, "the tunnel has ended")
    assert sidecar.metric("weir_tunnels") == 0
    wait_until(lambda: log.exists() and '"status":101' in log.read_text(), 20, "it is logged")


def test_stopping_ends_tunnels_after_the_time_of_requests(world):
    server = echo_server(world)
    sidecar = sidecar_before(world, server, drain={"keep_accepting": "0s", "grace": "1s"})
    connection, _, _, _ = client.open_tunnel(sidecar.address)
    sidecar.command("drain")
    wait_until(lambda: http.get(sidecar.status, "/readyz").status == 503, 20, "readiness ends")
    connection.sendall(frame(TEXT, b"still here"))
    assert list(frames.parsed(connection.recv(65536)))[0][3] == b"still here"
    begun = time.monotonic()
    assert sidecar.stop() == 0
    assert time.monotonic() - begun >= 1
    with pytest.raises(ConnectionResetError):
        connection.recv(1)


EXAMPLES = ROOT / "docs" / "examples" / "websocket"


@pytest.mark.parametrize("example", ["nginx.conf", "haproxy.cfg"])
def test_behind_another_proxy(world, example):
    """The examples as they are but for their ports: 8000, their own, and 8080, weir's."""
    server = echo_server(world)
    sidecar = sidecar_before(world, server)
    ports = {"8000": str(free_port()), "8080": port_of(sidecar.address)}
    file = world.folder / example
    file.write_text(re.sub(r"\b(8000|8080)\b", lambda found: ports[found.group()], (EXAMPLES / example).read_text()))
    nginx = [need("nginx"), "-p", world.folder, "-c", file, "-e", world.folder / "error.log", "-g",
             "daemon off; master_process off;"]
    command = nginx if example == "nginx.conf" else [need("haproxy"), "-db", "-f", file]
    process = Process(command, world.folder / "proxy.log", env=dict(os.environ))
    world.ending.callback(process.terminate)

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(ports["8000"]))) == 0

    wait_until(listens, 20, "the proxy listens")
    played = list(cases.framing())
    for case in played:
        assert client.problems(case, client.play(case, f"127.0.0.1:{ports['8000']}")) == [], case.name
    assert event(sidecar, "tunnel_opened") == len(played)
