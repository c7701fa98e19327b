"""Limits by API key, session, user and address: two sidecars of one fleet, and where no secret may appear."""

import base64
import hashlib

import pytest

from harness import http
from harness.ports import free_port
from harness.processes import wait_until
from harness.sidecar import quota

SECRETS = {"header": "kEy-0123456789", "cookie": "sEssion-abcdef", "query": "tOken-xyz", "user": "aNn-of-weir"}
QUOTAS = [quota("all"), quota("header/{a}", "4r/h", parent="all"), quota("cookie/{b}", "1r/h", parent="all"),
          quota("query/{c}", "1r/h", parent="all"), quota("user/{d}", "1r/h", parent="all"),
          quota("anonymous", "2r/h", parent="all"), quota("client/{e}", "1r/h", parent="all")]
ROUTES = [
    {"match": {"path": "/client/**"}, "quota": "client/{client}"},
    {"match": {"path": "/token/**", "headers": {"authorization": "Bearer {token}"}}, "quota": "header/{token}"},
    {"quota": ["header/{header:x-api-key}", "cookie/{cookie:session}", "query/{query:token}", "user/{basic-user}",
               "anonymous"]},
]


def hashed(secret):
    return hashlib.blake2b(secret.encode(), digest_size=16).hexdigest()


def requests_with_secrets():
    basic = base64.b64encode(f"{SECRETS['user']}:pAssword".encode()).decode()
    yield "header", "/", {"X-Api-Key": SECRETS["header"]}
    yield "cookie", "/", {"Cookie": f"a=b; session={SECRETS['cookie']}"}
    yield "query", f"/?token={SECRETS['query']}", {}
    yield "user", "/", {"Authorization": f"Basic {basic}"}


def settings(folder):
    return {"access_log": "all", "access_log_file": str(folder / "access.log"), "headers": {"on_success": True},
            "log": {"level": "debug"}, "snapshot": {"file": str(folder / "snapshot")},
            "check": {"listen": f"127.0.0.1:{free_port()}"}}


@pytest.mark.smoke
def test_no_secret_is_anywhere_behind_routing(world, folder):
    sidecar = world.fleet(1, QUOTAS, ROUTES, settings=settings(folder))[0]
    seen = ""
    for source, path, fields in requests_with_secrets():
        name = f"{source}/{hashed(SECRETS[source])}"
        answers = [http.get(sidecar.address, path, headers=fields) for _ in range(6)]
        assert answers[0].status == 200 and answers[-1].status == 429
        assert answers[-1].headers["x-weir-quota"] == name
        seen += "".join(str(answer.headers) + answer.text for answer in answers)
        seen += sidecar.command("quota", "get", name)
        seen += str(sidecar.quota(name))
    pages = [http.get(sidecar.status, "/metrics").text]
    pages += [str(sidecar.api(page)) for page in ("/v1/status", "/v1/config", "/v1/problems", "/v1/quotas?limit=100")]
    wait_until(lambda: (folder / "access.log").read_text().count("\n") >= 24, 10, "the access log")
    access = (folder / "access.log").read_text()
    assert hashed(SECRETS["header"]) in access and hashed(SECRETS["header"]) in seen
    sidecar.stop()
    kept = [*sidecar.folder.rglob("*"), *folder.glob("snapshot*")]
    files = [path.read_bytes().decode(errors="replace") for path in kept if path.is_file()]
    everything = seen + "".join(pages) + access + "".join(files)
    for secret in (*SECRETS.values(), "pAssword"):
        assert secret not in everything


@pytest.mark.smoke
def test_sidecars_of_a_fleet_make_the_same_names(world, folder):
    fleet = world.fleet(2, QUOTAS, ROUTES)
    fields = {"X-Api-Key": SECRETS["header"]}
    for sidecar in (*fleet, *fleet):
        assert http.get(sidecar.address, "/", headers=fields).status == 200
    name = f"header/{hashed(SECRETS['header'])}"
    wait_until(lambda: all(http.get(one.address, "/", headers=fields).status == 429 for one in fleet), 10,
               "both have heard of all four")
    for sidecar in fleet:
        refused = http.get(sidecar.address, "/", headers=fields)
        assert refused.headers["x-weir-quota"] == name
        # The same key as a token is the same name, and another key is another one.
        assert http.get(sidecar.address, "/token/x", headers={"Authorization": f"Bearer {SECRETS['header']}"}).status == 429
        assert http.get(sidecar.address, "/", headers={"X-Api-Key": "another"}).status == 200


def test_the_anonymous_and_those_with_doubtful_values_share_a_quota(world, folder):
    sidecar = world.fleet(1, QUOTAS, ROUTES)[0]
    for path, fields in (("/", {}), ("/?token=%zz", {"Cookie": "session=\"\\141\"", "X-Api-Key": ""})):
        assert http.get(sidecar.address, path, headers=fields).status == 200
    for path, fields in (("/", {}), ("/?token=a&token=b", {"Cookie": "session=a; session=b"}), ("/?token=%00", {}),
                         ("/", {"Authorization": "Basic !"})):
        refused = http.get(sidecar.address, path, headers=fields)
        assert refused.status == 429 and refused.headers["x-weir-quota"] == "anonymous"


def test_addresses_count_behind_trusted_proxies_only(world, folder):
    says = {"X-Forwarded-For": "192.0.2.1, 203.0.113.7"}
    trusting = world.fleet(1, QUOTAS, ROUTES, settings={"trusted_proxies": ["127.0.0.0/8"]})[0]
    assert http.get(trusting.address, "/client/x", headers=says).status == 200
    assert http.get(trusting.address, "/client/x", headers=says).headers["x-weir-quota"] == "client/203.0.113.7"
    assert http.get(trusting.address, "/client/x", headers={"X-Forwarded-For": "2001:db8:0:1::5"}).status == 200
    refused = http.get(trusting.address, "/client/x", headers={"X-Forwarded-For": "2001:db8:0:1::6"})
    assert refused.headers["x-weir-quota"] == "client/2001:db8:0:1::"
