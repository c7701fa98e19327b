"""Traefik's ForwardAuth asks weir on /check.

Traefik itself does not run here: it is neither in Debian nor on PyPI, and building it takes 2,000 Go
packages. So the example is held against what ForwardAuth knows (version 3.6), and weir is sent what
ForwardAuth and Go's HTTP client send: all fields of the client but those of the connection and of the
body, the X-Forwarded-… fields set anew, always GET, never a body.
"""

import re
import socket

import pytest
import yaml

from harness.paths import ROOT
from harness.ports import free_port
from harness.sidecar import quota

pytestmark = pytest.mark.smoke

EXAMPLE = ROOT / "docs" / "examples" / "check" / "traefik.yaml"
FORWARD_AUTH = {"address", "tls", "trustForwardHeader", "authResponseHeaders", "authResponseHeadersRegex",
                "authRequestHeaders", "maxResponseBodySize", "addAuthCookiesToResponse", "headerField", "forwardBody",
                "maxBodySize", "preserveLocationHeader", "preserveRequestMethod"}
NOT_SENT = {"connection", "keep-alive", "te", "trailers", "transfer-encoding", "upgrade",  # by ForwardAuth
            "host", "content-length", "trailer"}  # by Go's client
QUOTAS = [quota("bucket", "1000r/s"), quota("none", "0r/s")]
ROUTES = [
    {"match": {"path": "/posts/**", "methods": ["POST"]}, "quota": "none"},
    {"match": {"path": "/fields/**", "headers": {"X-Plan": "free"}}, "quota": "none"},
    {"match": {"host": "blocked.test"}, "quota": "none"},
    {"match": {"path": "/{bucket}/**"}, "quota": ["{bucket}"]},
]


def example():
    return yaml.safe_load(EXAMPLE.read_text())["http"]


def test_the_example_has_only_what_traefik_knows_and_its_names_lead_somewhere():
    http = example()
    assert set(http) == {"routers", "middlewares", "services"}
    (router,) = http["routers"].values()
    assert set(router) == {"rule", "middlewares", "service"}
    assert re.fullmatch(r"PathPrefix\(`/`\)", router["rule"])
    assert set(router["middlewares"]) == set(http["middlewares"])
    assert {router["service"]} == set(http["services"])
    (middleware,) = http["middlewares"].values()
    assert set(middleware) == {"forwardAuth"}
    options = middleware["forwardAuth"]
    assert set(options) <= FORWARD_AUTH and options["trustForwardHeader"] is False
    assert options["address"] == "http://127.0.0.1:9903/check"
    (service,) = http["services"].values()
    assert service == {"loadBalancer": {"servers": [{"url": "http://127.0.0.1:3000"}]}}


def test_the_page_shows_the_example_s_middleware():
    page = (ROOT / "docs" / "check.md").read_text()
    block = re.search(r"## Traefik.*?```yaml\n(.*?)```", page, re.DOTALL).group(1)
    shown = yaml.safe_load(block)["http"]["middlewares"]
    assert shown == example()["middlewares"]


class Asker:
    """Go's client: one connection, kept; fields in the order of their names."""

    def __init__(self, check):
        host, port = check.rsplit(":", 1)
        self.check = check
        self.path = example()["middlewares"]["weir"]["forwardAuth"]["address"].split("9903", 1)[1]
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.file = self.socket.makefile("rb")

    def ask(self, method, target, fields=(), host="site.test"):
        """(status, fields, body) of what weir answers when a client sends that to Traefik."""
        sent = {name: value for name, value in fields if name.lower() not in NOT_SENT}
        sent.update({"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Method": method, "X-Forwarded-Proto": "http",
                     "X-Forwarded-Host": host, "X-Forwarded-Uri": target,
                     # Of the entry point.
                     "X-Forwarded-Port": "80", "X-Forwarded-Server": "traefik-0", "X-Real-Ip": "192.0.2.7"})
        agent = sent.pop("User-Agent", None)
        lines = [f"GET {self.path} HTTP/1.1", f"Host: {self.check}"]
        lines += [f"User-Agent: {agent}"] if agent else []
        lines += [f"{name}: {sent[name]}" for name in sorted(sent)]
        lines += [] if "Accept-Encoding" in sent else ["Accept-Encoding: gzip"]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        return self.answer()

    def answer(self):
        status = int(self.file.readline().split()[1])
        fields = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, value = line.decode().split(":", 1)
            fields[name.lower()] = value.strip()
        if status < 200:
            return self.answer()  # Go's client waits for the one behind it
        return status, fields, self.file.read(int(fields.get("content-length", 0)))


@pytest.fixture
def asker(world):
    check = f"127.0.0.1:{free_port()}"
    fleet = world.fleet(1, QUOTAS, ROUTES, settings={"check": {"listen": check}})
    asker = Asker(check)
    asker.sidecar = fleet[0]
    yield asker
    asker.socket.close()


BROWSER = [("User-Agent", "Mozilla/5.0"), ("Accept", "text/html,*/*;q=0.8"), ("Accept-Language", "en"),
           ("Cookie", "a=b; c=d"), ("Authorization", "Basic eDp5"), ("Range", "bytes=0-9"), ("If-None-Match", '"x"'),
           ("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"), ("Te", "trailers"), ("Priority", "u=0")]
UPLOAD = [("Content-Type", "text/plain"), ("Content-Length", "3000"), ("Expect", "100-continue")]


def test_what_forward_auth_sends_is_judged_as_the_client_s_request(asker):
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        for fields in ((), BROWSER, UPLOAD):
            status, _, body = asker.ask(method, "/bucket/x?a=b&quota=none", fields)
            assert (status, body) == (200, b""), (method, fields)
            status, answer, body = asker.ask(method, "/none/x", fields)
            assert status == 429, (method, fields)
            # Traefik passes the whole answer on.
            assert int(answer["retry-after"]) >= 1 and answer["ratelimit"].startswith('"none";r=0') and body
    assert asker.ask("GET", "/posts/x")[0] == 200
    assert asker.ask("POST", "/posts/x", UPLOAD)[0] == 429
    assert asker.ask("GET", "/bucket/x", host="blocked.test")[0] == 429
    assert asker.ask("GET", "/fields/x")[0] == 200
    assert asker.ask("GET", "/fields/x", [("X-Plan", "free")])[0] == 429
    # All of it on one connection.
    assert asker.sidecar.metric("weir_proxy_events_total", event="client_accepted") == 1
    assert asker.sidecar.metric("weir_requests_total") == 0


def test_a_client_s_own_words_move_its_request_to_no_other_quota(asker):
    for name, value in (("X-Forwarded-Uri", "/bucket/x"), ("X-Forwarded-Method", "GET"), ("X-Forwarded-Host", "other")):
        assert asker.ask("POST", "/posts/x", [(name, value)])[0] == 429  # set anew
    for name, value in (("X-Original-Uri", "/bucket/x"), ("X-Original-Url", "http://a.test/bucket/x")):
        assert asker.ask("GET", "/none/x", [(name, value)])[0] in (400, 429)  # handed on, and contradicting
    assert asker.ask("GET", "/none%2f..%2fbucket/x")[0] == 400
    assert asker.ask("GET", "/none/x?peek=1&quota=bucket&deny=403")[0] == 429
    assert asker.ask("GET", "/bucket/x")[0] == 200
