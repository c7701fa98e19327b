"""What a quota document says of refusals, costs and shares, by real sidecars that read it as YAML."""

import textwrap

import pytest
from harness import http
from harness.load import SECOND, Load, plan, stream
from harness.processes import wait_equal, wait_until
from harness.scripted import ScriptedOrigin
from harness.steadiness import BINS_A_SECOND, fitted_rate

pytestmark = pytest.mark.smoke

LOCAL = ["127.0.0.1/32"]
IETF = {"ratelimit", "ratelimit-policy"}
X_FAMILY = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}


@pytest.fixture
def scripted(world):
    origins = []

    def make(count=1, settings=None, routes=None, **options):
        """Sidecars in front of an origin that does as it is told."""
        origins.append(ScriptedOrigin(**options))
        fleet = world.fleet(count, [], start=False, settings=settings, routes=routes)
        for sidecar in fleet:
            sidecar.upstream = origins[0].address
        return fleet, origins[0]

    yield make
    for origin in origins:
        origin.stop()


def document(fleet, text, generation=1):
    """The text as it stands is every sidecar's quota file."""
    head = f"apiVersion: weir/v1\nkind: QuotaSet\nname: test\ngeneration: {generation}\nquotas:\n"
    for sidecar in fleet:
        # Replaced whole: the file is watched.
        fresh = sidecar.quota_file.with_suffix(".fresh")
        fresh.write_text(head + textwrap.dedent(text))
        fresh.replace(sidecar.quota_file)
    return fleet


def families(answer):
    """The fields of limits that an answer carries."""
    return {name for name in answer.headers if name in IETF | X_FAMILY}


DOCUMENT = """
- name: plain
  limits: [{rate: 0r/s}]
- name: ietf
  limits: [{rate: 0r/s}]
  headers: ietf
- name: both
  limits: [{rate: 0r/s}]
  headers: [ietf, x-ratelimit]
- name: old
  limits: [{rate: 2r/h}]
  headers: x-ratelimit
- name: bare
  limits: [{rate: 0r/s}]
  headers: none
- name: secret
  limits: [{rate: 0r/s}]
  headers: hidden
- name: page
  limits: [{rate: 0r/s}]
  refusal: {status: 503, content_type: text/html, body: "<p>later, \\"friend\\"</p>"}
- name: mute
  limits: [{rate: 0r/s}]
  refusal: {status: 420, body: ""}
"""


def test_families_of_fields_and_forms_of_refusals_are_those_of_the_quota(scripted):
    fleet, origin = scripted()
    sidecar = document(fleet, DOCUMENT).start()[0]

    def refused(name, status=429):
        answer = http.get(sidecar.address, f"/{name}/x")
        assert answer.status == status, name
        return answer
    for name, fields in [("plain", IETF), ("ietf", IETF), ("both", IETF | X_FAMILY),
                         ("bare", set()), ("secret", set())]:
        answer = refused(name)
        assert families(answer) == fields, name
        assert int(answer.headers["retry-after"]) >= 1
        # A hidden one is named nowhere, whatever the form of the answer.
        hidden = name == "secret"
        assert answer.headers.get("x-weir-quota") == (None if hidden else name)
        assert (name in answer.text) != hidden
        assert answer.headers["content-type"] == "application/problem+json"
    for _ in range(2):
        assert http.get(sidecar.address, "/old/x").status == 200
    answer = refused("old")
    assert families(answer) == X_FAMILY
    assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("2", "0")
    page = refused("page", 503)
    assert (page.headers["content-type"], page.text) == ("text/html", '<p>later, "friend"</p>')
    assert families(page) == IETF
    mute = refused("mute", 420)
    assert mute.body == b"" and mute.headers["content-length"] == "0"
    assert origin.count() == 2


def test_families_of_all_quotas_are_set_for_the_sidecar_and_go_before_no_quota_s_own(scripted):
    fleet, _ = scripted(settings={"headers": {"rate_limit": ["x-ratelimit"], "on_success": True,
                                              "quota": False}})
    sidecar = document(fleet, DOCUMENT + "- {name: open, limits: [{rate: 100r/s}]}\n").start()[0]
    answers = {name: http.get(sidecar.address, f"/{name}/x")
               for name in ("plain", "ietf", "bare", "secret", "open")}
    assert {name: families(answer) for name, answer in answers.items()} == {
        "plain": X_FAMILY, "ietf": IETF, "bare": set(), "secret": set(), "open": X_FAMILY}
    assert answers["open"].status == 200
    assert not any("x-weir-quota" in answer.headers for answer in answers.values())


def settled(sidecar, name):
    """What the quota's limits count of all that passed."""
    return (sidecar.metric("weir_quota_admitted_total", quota=name)
            - sidecar.metric("weir_quota_refunded_total", quota=name))


def test_the_upstream_s_cost_is_charged_and_taken_out(scripted):
    fleet, _ = scripted()
    sidecar = document(fleet, """
        - name: b
          limits: [{rate: 50c/h, of: cost}]
        """).start()[0]
    total = 0
    for cost, charged in [("20", 20), ("0.5", 0.5), ("0", 0), ("-3", 1), ("much", 1), (None, 1)]:
        answer = http.get(sidecar.address, "/b/x" + (f"?cost={cost}" if cost else ""))
        assert answer.status == 200
        assert "x-weir-cost" not in answer.headers
        total += charged
        wait_equal(lambda: round(settled(sidecar, "b"), 6), total, f"what a cost of {cost} charges")
    wait_equal(lambda: sidecar.metric("weir_proxy_events_total", event="cost_invalid"), 2, "what was no cost")
    # It is the limit that counts it: 23.5 of 50 are used, one answer for 40 uses up the rest.
    assert http.get(sidecar.address, "/b/x?cost=40").status == 200
    refused = http.get(sidecar.address, "/b/x")
    assert refused.status == 429
    assert refused.headers["x-weir-quota"] == "b"


def test_a_weight_that_a_field_states_counts_from_trusted_clients_only(scripted):
    routes = [{"match": {"path": "/{bucket}/**"}, "quota": ["{bucket}"], "weight": "header:x-cost"}]
    text = "- name: b\n  limits: [{rate: 10r/h}]\n"
    fleet, origin = scripted(settings={"trusted_proxies": LOCAL}, routes=routes)
    sidecar = document(fleet, text).start()[0]

    def ask(one, weight):
        return http.get(one.address, "/b/x", headers={"X-Cost": weight} if weight else {}).status
    assert [ask(sidecar, weight) for weight in ("2.5", None, "heavy", "5.5", "1", None)] == [
        200, 200, 200, 200, 429, 429]
    wait_equal(lambda: settled(sidecar, "b"), 10, "what has been charged")
    assert sidecar.metric("weir_proxy_events_total", event="weight_invalid") == 1
    assert origin.count() == 4
    # Of anybody else it is neither believed nor passed on.
    sidecar.settings["trusted_proxies"] = ["192.0.2.1"]
    sidecar.stop()
    sidecar.start()
    assert [ask(sidecar, "0.001") for _ in range(12)] == [200] * 10 + [429] * 2
    assert "x-cost" not in origin.last_fields()
    wait_equal(lambda: settled(sidecar, "b"), 10, "what has been charged again")


def test_shadow_tells_what_it_would_refuse_and_off_does_nothing(scripted):
    fleet, origin = scripted()
    text = """
        - name: dark
          mode: {dark}
          limits: [{{rate: 5r/h}}]
        - name: out
          mode: off
          limits: [{{rate: 0r/s}}]
        """
    sidecar = document(fleet, text.format(dark="shadow")).start()[0]
    for _ in range(20):
        answer = http.get(sidecar.address, "/dark/x")
        assert answer.status == 200 and not families(answer)
        assert http.get(sidecar.address, "/out/x").status == 200
    metrics = sidecar.metrics()

    def value(name, of):
        return http.metric_sum(metrics, f"weir_quota_{name}", quota=of)
    assert (value("offered_total", "dark"), value("admitted_total", "dark")) == (20, 20)
    assert (value("refused_total", "dark"), value("shadow_refused_total", "dark")) == (0, 15)
    # What it would do, as the HELP says; the quota that is off does nothing at all.
    assert value("discard_probability", "dark") == 1
    assert value("discard_probability", "out") == 0
    assert value("shadow_refused_total", "out") == 0
    assert sidecar.metric("weir_requests_total", outcome="refused") == 0
    assert origin.count() == 40
    # In force, it refuses at once: its bucket has counted what passed.
    document(fleet, text.format(dark="enforce"), 2)
    wait_until(lambda: http.get(sidecar.address, "/dark/x").status == 429, 30, "the new mode")


def test_the_same_share_of_keys_is_enforced_by_two_sidecars_alike(scripted):
    fleet, _ = scripted(2, routes=[{"match": {"path": "/{key}/**"}, "quota": ["t/{key}"]}])
    text = """
        - name: t/{{key}}
          enforce: {share}%
          limits: [{{rate: 0r/s}}]
        """
    document(fleet, text.format(share=25)).start()

    def refused(sidecar):
        # Twice: a name that comes while upkeep holds the table shares the overflow instance once.
        for _ in range(2):
            found = {i: http.get(sidecar.address, f"/key-{i}/x").status for i in range(400)}
        assert set(found.values()) == {200, 429}
        return {i for i, status in found.items() if status == 429}
    first = refused(fleet[0])
    # A binomial's deviation is 8.7.
    assert abs(len(first) - 100) < 4 * 8.7
    assert refused(fleet[1]) == first
    document(fleet, text.format(share=60), 2)
    # Shown is what is known; in force it is when the traffic says so.
    for one in fleet:
        wait_until(lambda: len(refused(one)) > 180, 30, "the new share", every_s=0.2)
    more = refused(fleet[1])
    assert first < more
    assert abs(len(more) - 240) < 4 * 9.8
    assert refused(fleet[0]) == more


SIZES = (200, 60_000, 3_000, 3_000, 150_000, 900, 25_000, 0, 12_000)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.long)])
def test_response_bytes_of_mixed_sizes_are_held_and_counted_to_the_byte(scripted, folder, count):
    """The mean of the bodies is far from nearly all of them, so that the corrections decide."""
    fleet, origin = scripted(count, sizes=SIZES)
    document(fleet, """
        - name: b
          limits: [{rate: 2MB/s, of: response-bytes}]
        """).start()
    seconds = 10
    load = Load(folder, plan(fleet.targets(), [stream("b", 400, arrivals="poisson")], seconds, seed=5))
    result = load.wait()
    begin_ns = result.start_ns + 3 * SECOND
    bin_ns = SECOND // BINS_A_SECOND
    held = fitted_rate([origin.bytes_between(begin_ns + i * bin_ns, begin_ns + (i + 1) * bin_ns)
                        for i in range((seconds - 4) * BINS_A_SECOND)])
    print(result.describe(), f"{held / 1e6:.3f} MB/s of 2, {origin.count()} answers")
    assert result.total("errors") == 0
    assert result.total("refused") > result.total("offered") / 2
    assert 1.9e6 <= held <= 2.1e6
    # What was charged in advance is put right: the counters and the origin agree to the byte.
    wait_until(lambda: fleet.metric("weir_inflight_requests") == 0, 20, "all has ended")
    wait_until(lambda: sum(settled(one, "b") for one in fleet) == pytest.approx(origin.bytes_sent(), rel=1e-6), 20,
               "the same is charged as was sent")
    corrections = fleet.metric("weir_proxy_events_total", event="corrections")
    assert corrections >= origin.count() / 2
