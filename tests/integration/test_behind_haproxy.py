"""weir behind a real HAProxy with its plainest health check and as a TLS ingress would set the fields."""

import os

import pytest

from harness import http
from harness.hosts import need
from harness.ports import free_port
from harness.processes import Process, wait_until
from harness.scripted import ScriptedOrigin
from harness.sidecar import quota

CONFIG = """
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    timeout check 20s
frontend ingress
    bind 127.0.0.1:{port}
    option forwardfor
    http-request set-header X-Forwarded-Proto https
    http-request set-header X-Forwarded-Host shop.example
    default_backend weir
backend weir
    option httpchk
    server weir {weir} check inter 50ms fall 1 rise 1
"""


def proxied(world, weir):
    port = free_port()
    file = world.folder / "haproxy.cfg"
    file.write_text(CONFIG.format(port=port, weir=weir))
    process = Process([need("haproxy"), "-db", "-f", file], world.folder / "haproxy.log", env=dict(os.environ))
    world.ending.callback(process.terminate)
    return f"127.0.0.1:{port}"


def status(address):
    try:
        return http.get(address, "/").status
    except OSError:
        return None


# Without `trusted_proxies` as well as with the ingress in it.
@pytest.mark.smoke
@pytest.mark.parametrize("settings", [{}, {"trusted_proxies": ["127.0.0.1"]}], ids=["not-given", "given"])
def test_its_health_checks_pass_and_its_fields_arrive(world, settings):
    origin = ScriptedOrigin()
    world.ending.callback(origin.stop)
    sidecar, = world.fleet(1, [quota("all", "100000r/s")], routes=[{"quota": "all"}],
                           settings={"upstream": f"http://{origin.address}", **settings})
    ingress = proxied(world, sidecar.address)
    wait_until(lambda: status(ingress) == 200, 20, "HAProxy passes requests on")
    wait_until(lambda: origin.count() > 30, 20, "HAProxy has checked")
    wait_until(lambda: http.get(ingress, "/last").status == 200, 20, "it is passed on")
    sent = next(fields for _, path, fields, _ in reversed(origin.seen) if path == "/last")
    assert sent["x-forwarded-proto"] == "https"
    assert sent["x-forwarded-host"] == "shop.example"
    assert sent["x-forwarded-for"] == "127.0.0.1, 127.0.0.1"
    checked = next(fields for _, _, fields, _ in origin.seen if fields["x-forwarded-proto"] == "http")
    assert checked["host"] == origin.address  # HAProxy's checks name none
    # The checks are of HTTP/1.0, each on a connection of its own; towards the upstream they share one.
    assert sidecar.metric("weir_proxy_events_total", event="upstream_opened") <= 5
    assert sidecar.metric("weir_requests_total", outcome="rejected") == 0
