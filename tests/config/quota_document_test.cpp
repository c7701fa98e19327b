#include "config/quota_document.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "config/helpers.h"

namespace weir::config {
namespace {

using namespace std::chrono_literals;
using limiter::BurstSpec;
using limiter::Unit;
using testing::Lines;
using testing::lines;
using testing::quota_errors;

const std::string kHead = "apiVersion: weir/v1\nkind: QuotaSet\nname: t\ngeneration: 1\nquotas:\n";

/// The messages of a set with these quotas; they begin on line 6.
Lines errors_with(const std::string& quotas) { return quota_errors(kHead + quotas); }

limiter::QuotaDefinition one(const std::string& text) {
    Diagnostics diagnostics;
    const auto quota = parse_quota({"body", text}, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    return quota.value_or(limiter::QuotaDefinition{});
}

TEST_CASE("a set without a generation is automatic, and may say so") {
    for (const std::string line : {"", "generation: auto\n", "generation: 'auto'\n"}) {
        Diagnostics diagnostics;
        const auto sets = parse_quota_sets(
            {{"q.yaml", "apiVersion: weir/v1\nkind: QuotaSet\nname: t\n" + line + "quotas: []\n"}},
            diagnostics);
        CHECK_FALSE(diagnostics.has_errors());
        REQUIRE(sets.size() == 1);
        CHECK_FALSE(sets[0].generation);
    }
    CHECK(quota_errors("apiVersion: weir/v1\nkind: QuotaSet\nname: t\ngeneration: automatic\n"
                       "quotas: []\n")
              .size() == 1);
}

TEST_CASE("a set with every field") {
    Diagnostics diagnostics;
    const auto sets = parse_quota_sets({{"q.yaml", R"(apiVersion: weir/v1
kind: QuotaSet
name: storage
generation: 7
quotas:
  - name: s3
    limits: [{rate: 20000r/s}]
  - name: s3/{bucket}
    parent: s3
    mode: shadow
    max_instances: 1000
    max_children: 10
    headers: hidden
    limits:
      - {rate: 1000r/s, low: 1s, high: 2500r, debt: 100ms, law: linear, scope: sidecar}
      - {rate: 200MiB/s, of: response-bytes, low: 64MiB}
      - {rate: 1GB/m, of: request-bytes}
      - {rate: 50c/s, of: cost, high: 200c}
  - name: blocked
    limits: [{rate: 0}]
)"}},
                                       diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    REQUIRE(sets.size() == 1);
    CHECK(sets[0].name == "storage");
    CHECK(sets[0].generation == 7U);
    REQUIRE(sets[0].quotas.size() == 3);
    const limiter::QuotaDefinition& bucket = sets[0].quotas[1];
    CHECK(bucket.parent == "s3");
    CHECK(bucket.mode == limiter::Mode::shadow);
    CHECK(bucket.max_instances == 1000);
    CHECK(bucket.max_children == 10);
    CHECK(bucket.hide_headers);
    REQUIRE(bucket.limits.size() == 4);
    CHECK(bucket.limits[0].low == BurstSpec{BurstSpec::Kind::seconds, 1});
    CHECK(bucket.limits[0].high == BurstSpec{BurstSpec::Kind::amount, 2500});
    CHECK(bucket.limits[0].debt == BurstSpec{BurstSpec::Kind::seconds, 0.1});
    CHECK(bucket.limits[0].law == limiter::Law::linear);
    CHECK(bucket.limits[0].scope == limiter::Scope::sidecar);
    CHECK(bucket.limits[1].unit == Unit::response_bytes);
    CHECK(bucket.limits[1].low == BurstSpec{BurstSpec::Kind::amount, 64 * 1048576.0});
    CHECK(bucket.limits[2].unit == Unit::request_bytes);
    CHECK(bucket.limits[2].period == 1min);
    CHECK(bucket.limits[3].unit == Unit::cost);
    CHECK(sets[0].quotas[2].limits[0].amount == 0);
}

TEST_CASE("the head of a document is checked") {
    CHECK(quota_errors("kind: QuotaSet\nname: a\nquotas: []\n") ==
          Lines{"q.yaml:1:1: 'apiVersion' is missing"});
    CHECK(
        quota_errors("apiVersion: weir/v2\nkind: Quotas\nname: ''\ngeneration: 0\nquotas: {}\n") ==
        Lines{"q.yaml:1:13: apiVersion: 'weir/v2' must be 'weir/v1'",
              "q.yaml:2:7: kind: 'Quotas' must be 'QuotaSet'",
              "q.yaml:3:7: name: must have from 1 to 128 bytes",
              "q.yaml:4:13: generation: must be from 1 to 9007199254740991",
              "q.yaml:5:9: quotas: must be a list, is a map"});
    CHECK(quota_errors("[1]") == Lines{"q.yaml:1:1: must be a map, is a list"});
    CHECK(quota_errors("") == Lines{"q.yaml: holds no quota document"});
    CHECK(quota_errors("apiVersion: weir/v1\nkind: QuotaSet\nname: a\nquota: []\n") ==
          Lines{"q.yaml:1:1: 'quotas' is missing",
                "q.yaml:4:1: quota: unknown field, did you mean 'quotas'?"});
}

TEST_CASE("unknown fields come with a suggestion") {
    CHECK(errors_with("  - name: a\n    limit: [{rate: 1r/s}]\n") ==
          Lines{"q.yaml:7:5: quotas[0].limit: unknown field, did you mean 'limits'?"});
    CHECK(errors_with("  - name: a\n    limits: [{rat: 1r/s}]\n") ==
          Lines{"q.yaml:7:14: quotas[0].limits[0]: a limit needs its 'rate', its 'window' or its "
                "'concurrency'",
                "q.yaml:7:15: quotas[0].limits[0].rat: unknown field, did you mean 'rate'?"});
    CHECK(
        errors_with("  - name: a\n    burst: 5\n") ==
        Lines{
            "q.yaml:7:5: quotas[0].burst: unknown field, say it in a limit, with low (no refusals "
            "up to this level) and high (all are refused): 'limits: [{rate: 100r/s, low: 50r, "
            "high: 150r}]'"});
    CHECK(
        errors_with("  - name: a\n    limits: [{rate: 1r/s, burst: 5}]\n") ==
        Lines{"q.yaml:7:27: quotas[0].limits[0].burst: unknown field, say 'low' (no refusals up to "
              "this level) and 'high' (every request is refused from it on)"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 1r/s, burts: 5}]\n")[0].find("say 'low'") !=
          std::string::npos);
    CHECK(errors_with("  - name: a\n    limits: [{rate: 1r/s, requests_per_second: 5}]\n")[0].find(
              "say an amount per time: 'rate: 100r/s'") != std::string::npos);
    CHECK(errors_with("  - name: a\n    requestsPerUnit: 5\n")[0].find("put it into a limit") !=
          std::string::npos);
    CHECK(errors_with("  - name: a\n    refusal: {stat: 503}\n") ==
          Lines{"q.yaml:7:15: quotas[0].refusal.stat: unknown field, did you mean 'status'?"});
    CHECK(errors_with("  - name: a\n    rate: 1r/s\n") ==
          Lines{"q.yaml:7:5: quotas[0].rate: unknown field, put it into a limit: 'limits: [{rate: "
                "100r/s}]'"});
    CHECK(errors_with("  - name: a\n    colour: red\n") ==
          Lines{"q.yaml:7:5: quotas[0].colour: unknown field"});
}

TEST_CASE("kinds that are not in this version say so and are never ignored") {
    for (const std::string kind : {"lease: 10r/s"}) {
        CAPTURE(kind);
        const std::string key = kind.substr(0, kind.find(':'));
        CHECK(errors_with("  - name: a\n    limits: [{" + kind + "}]\n") ==
              Lines{"q.yaml:7:15: quotas[0].limits[0]." + key + ": not in this version"});
    }
}

TEST_CASE("modes and answers of a quota") {
    const auto quota =
        one("name: a\nenforce: 12.5%\nenforce_by: header:x-client\nwhen_isolated: pessimistic\n"
            "hold: 2500ms\nheaders: [x-ratelimit, hidden]\n"
            "refusal: {status: 503, content_type: text/html, body: \"<p>later</p>\"}\n"
            "limits: [{rate: 100r/s}]");
    CHECK(quota.enforced_share == 0.125);
    CHECK(quota.options->enforced_by == "x-client");
    CHECK(quota.when_isolated == limiter::IsolationMode::pessimistic);
    CHECK(quota.options->hold == std::chrono::milliseconds(2500));
    CHECK(one("name: a\nhold: 0s").options->hold == Duration::zero());
    CHECK(quota.hide_headers);
    CHECK(quota.options->headers == limiter::HeaderForms{false, true});
    CHECK(quota.options->refusal == limiter::RefusalForm{503, "text/html", "<p>later</p>"});
    CHECK(one("name: a\nheaders: none").options->headers == limiter::HeaderForms{false, false});
    const auto safe = one("name: a\nlimits: [{rate: 1r/s, safe: 30r/m}]").limits.at(0).safe;
    CHECK(safe.value_or(-1) == 0.5);
    CHECK(one("name: a\nenforce: 100%\nenforce_by: quota\nheaders: shown").options ==
          limiter::QuotaOptions{});
}

TEST_CASE("requests that wait for their turn") {
    const auto quota = one("name: a\nwait: {longest: 1500ms, queue: 30}\nlimits: [{rate: 9r/s}]");
    CHECK(quota.options->wait.longest == std::chrono::milliseconds(1500));
    CHECK(quota.options->wait.queue == 30);
    const auto usual = one("name: a\nwait: {longest: 2s}\nlimits: [{rate: 9r/s}]");
    CHECK(usual.options->wait.most() == 1000);
    CHECK(errors_with("  - name: a\n    wait: {longest: 2s}\n") ==
          Lines{"q.yaml:7:11: quotas[0].wait: a quota without limits refuses nothing, so nobody "
                "waits for it, give it a limit or leave it out"});
    CHECK(errors_with("  - name: a\n    wait: {queue: 30}\n    limits: [{rate: 9r/s}]\n") ==
          Lines{"q.yaml:7:19: quotas[0].wait.queue: needs 'longest', say how long a request may "
                "wait, such as 2s"});
    CHECK(errors_with("  - name: a\n    wait: {longest: 2m}\n    limits: [{rate: 9r/s}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].wait.longest: must be from 1ms to 1m"});
    CHECK(errors_with("  - name: a\n    wait: {longest: 0s}\n") ==
          Lines{"q.yaml:7:21: quotas[0].wait.longest: must be from 1ms to 1m"});
    CHECK(errors_with("  - name: a\n    wait: {longest: 2s, queue: 50001}\n") ==
          Lines{"q.yaml:7:32: quotas[0].wait.queue: must be from 1 to 50000"});
    CHECK(errors_with("  - name: a\n    wait: {longst: 2s}\n").size() == 1);
}

TEST_CASE("modes and answers that contradict themselves") {
    CHECK(errors_with("  - name: a\n    enforce: 25\n    enforce_by: x-client\n") ==
          Lines{"q.yaml:7:14: quotas[0].enforce: '25' is not a percentage from 0% to 100%",
                "q.yaml:8:17: quotas[0].enforce_by: must be quota or header:<name>"});
    CHECK(
        errors_with("  - name: a\n    mode: shadow\n    enforce: 25%\n") ==
        Lines{"q.yaml:8:14: quotas[0].enforce: a share needs 'mode: enforce', leave out the share "
              "or set the mode to enforce"});
    CHECK(errors_with("  - name: a\n    enforce_by: 'header:a b'\n") ==
          Lines{"q.yaml:7:17: quotas[0].enforce_by: must be header: and the name of a request "
                "field, of at most 127 letters, digits and -, such as header:X-Tenant"});
    CHECK(errors_with("  - name: a\n    headers: [none, ietf]\n") ==
          Lines{"q.yaml:7:14: quotas[0].headers: 'none' excludes 'ietf' and 'x-ratelimit'"});
    CHECK(errors_with("  - name: a\n    headers: [shown, hidden]\n") ==
          Lines{"q.yaml:7:14: quotas[0].headers: 'shown' and 'hidden' exclude each other"});
    CHECK(errors_with("  - name: a\n    refusal: {status: 200}\n") ==
          Lines{"q.yaml:7:23: quotas[0].refusal.status: must be from 400 to 599"});
    CHECK(errors_with("  - name: a\n    refusal: {content_type: text/html}\n") ==
          Lines{"q.yaml:7:29: quotas[0].refusal.content_type: needs a 'body', give one or leave "
                "out the "
                "type"});
    CHECK(
        errors_with("  - name: a\n    refusal: {body: '" + std::string(1025, 'x') + "'}\n") ==
        Lines{
            "q.yaml:7:21: quotas[0].refusal.body: has 1025 bytes, longer than 1024 bytes, link to "
            "a page with the whole text"});
    CHECK(errors_with("  - name: a\n    refusal: {content_type: '\xc3\xa4', body: x}\n") ==
          Lines{"q.yaml:7:29: quotas[0].refusal.content_type: must have at most 127 visible "
                "characters, such as application/json"});
    CHECK(errors_with("  - name: a\n    hold: 61m\n") ==
          Lines{"q.yaml:7:11: quotas[0].hold: must be from 0s to 1h"});
    CHECK(
        errors_with("  - name: a\n    when_isolated: optimistic\n"
                    "    limits: [{rate: 9r/s, safe: 1r/s}]\n") ==
        Lines{"q.yaml:8:33: quotas[0].limits[0].safe: needs 'when_isolated: safe', leave out safe "
              "or set when_isolated to it"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 9r/s, scope: sidecar, safe: 1r/s}]\n") ==
          Lines{"q.yaml:7:49: quotas[0].limits[0].safe: a limit of one sidecar is never isolated, "
                "leave out safe"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 9r/s, safe: 1MiB/s}]\n") ==
          Lines{"q.yaml:7:33: quotas[0].limits[0].safe: counts bytes: say 'of: request-bytes' or "
                "'of: response-bytes'"});
}

TEST_CASE("words that YAML tools garble") {
    CHECK(errors_with("  - name: a\n    mode: false\n") ==
          Lines{"q.yaml:7:11: quotas[0].mode: 'false' must be enforce, shadow or off (in quotes: "
                "some YAML tools turn on and off into true and false), did you mean 'off'?"});
    CHECK(errors_with("  - name: a\n    mode: shadwo\n") ==
          Lines{"q.yaml:7:11: quotas[0].mode: 'shadwo' must be enforce, shadow or off, did you "
                "mean 'shadow'?"});
    CHECK(one("name: a\nmode: off").mode == limiter::Mode::off);
}

TEST_CASE("rates and bursts must fit what they count") {
    CHECK(errors_with("  - name: a\n    limits: [{rate: 5MiB/s}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].limits[0].rate: counts bytes: say 'of: request-bytes' or "
                "'of: response-bytes'"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 5c/s}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].limits[0].rate: counts cost: say 'of: cost'"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 5r/s, of: request-bytes}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].limits[0].rate: must be in bytes, like 5MiB, since it is "
                "of request-bytes"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 5c/s, of: cost, low: 5r}]\n") ==
          Lines{"q.yaml:7:42: quotas[0].limits[0].low: must be in cost, like 20c, since it is of "
                "cost"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 5r/s, of: request_bytes}]\n") ==
          Lines{"q.yaml:7:31: quotas[0].limits[0].of: 'request_bytes' must be requests, "
                "request-bytes, response-bytes or cost, did you mean 'request-bytes'?"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: 100}]\n").size() == 1);
    CHECK(errors_with("  - name: a\n    limits: [{rate: [1r/s]}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].limits[0].rate: must be a single value, is a list"});
    CHECK(errors_with("  - name: a\n    limits: [{rate: ~}]\n") ==
          Lines{"q.yaml:7:21: quotas[0].limits[0].rate: must be a single value, is nothing"});
}

TEST_CASE("what only the whole tree shows is mapped back to places") {
    const Lines missing =
        errors_with("  - name: s3/{bucket}\n  - name: a\n    parent: s3/{bucke}\n");
    REQUIRE(missing.size() >= 1);
    CHECK(missing[0].find("q.yaml:8:13: quotas[1].parent: ") == 0);
    const Lines cycle = errors_with(
        "  - {name: a, parent: b}\n  - {name: b, parent: c}\n  - {name: c, parent: a}\n");
    REQUIRE(cycle.size() >= 1);
    CHECK(cycle[0].find("q.yaml:6:") == 0);
    const Lines twice = errors_with("  - {name: a}\n  - {name: b}\n  - {name: a}\n");
    REQUIRE(twice.size() == 1);
    CHECK(twice[0].find("q.yaml:8:") == 0);
    const Lines borders =
        errors_with("  - name: a\n    limits:\n      - {rate: 100r/s, low: 2s, high: 1s}\n");
    REQUIRE(borders.size() == 1);
    CHECK(borders[0].find("q.yaml:8:") == 0);
    CHECK(borders[0].find("quotas[0].limits[0]") != std::string::npos);
    const Lines capture =
        errors_with("  - name: s3/{bucket}\n  - {name: x/{b}, parent: \"s3/{bucket}\"}\n");
    REQUIRE(capture.size() == 1);
    CHECK(capture[0].find("q.yaml:7:") == 0);
}

TEST_CASE("several documents and files are one tree") {
    const std::string head = "apiVersion: weir/v1\nkind: QuotaSet\n";
    const std::string parents = head + "name: a\nquotas: [{name: p}]\n---\n" + head +
                                "name: b\nquotas: [{name: c, parent: p}]\n";
    CHECK(quota_errors(parents) == Lines{});

    Diagnostics diagnostics;
    const auto sets = parse_quota_sets({{"one.yaml", head + "name: a\nquotas: [{name: p}]\n"},
                                        {"two.json", R"({"apiVersion": "weir/v1",
 "kind": "QuotaSet", "name": "a",
 "quotas": [{"name": "p"}, {"name": "q", "parent": "nobody"}]})"}},
                                       diagnostics);
    const Lines found = lines(diagnostics);
    REQUIRE(found.size() == 2);
    CHECK(found[0] == "two.json:3:22: quotas[0].name: defined twice");
    CHECK(found[1] == "two.json:3:52: quotas[1].parent: there is no quota 'nobody'");
}

TEST_CASE("three files of one set and generation are its parts; of several they are refused") {
    const auto part = [](int generation, const std::string& quotas) {
        return "apiVersion: weir/v1\nkind: QuotaSet\nname: storage\ngeneration: " +
               std::to_string(generation) + "\nquotas: [" + quotas + "]\n";
    };
    Diagnostics diagnostics;
    const auto sets = parse_quota_sets({{"a.yaml", part(7, "{name: c, parent: p}")},
                                        {"b.yaml", part(7, "{name: p}")},
                                        {"c.yaml", part(7, "{name: q}")}},
                                       diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    REQUIRE(sets.size() == 1);
    CHECK(sets[0].generation == 7U);
    CHECK(sets[0].quotas.size() == 3);
    CHECK(sets[0].file == "a.yaml, b.yaml, c.yaml");

    Diagnostics half;
    static_cast<void>(parse_quota_sets({{"a.yaml", part(7, "{name: p}")},
                                        {"b.yaml", part(8, "{name: q}")},
                                        {"c.yaml", part(7, "{name: r}")}},
                                       half));
    REQUIRE(lines(half).size() == 1);
    CHECK(lines(half)[0].find("b.yaml:1:1: the set 'storage' has generation 8 here and "
                              "generation 7 in a.yaml") == 0);
}

TEST_CASE("quotas whose parents are elsewhere are validated each by itself") {
    Diagnostics diagnostics;
    const std::string head = "apiVersion: weir/v1\nkind: QuotaSet\nname: a\nquotas:\n";
    const auto sets = parse_quota_sets({{"a.yaml", head + "  - {name: c, parent: elsewhere}\n"}},
                                       diagnostics, Together::no);
    CHECK(lines(diagnostics) == Lines{});
    CHECK(sets[0].quotas.size() == 1);
    static_cast<void>(parse_quota_sets({{"b.yaml", head + "  - {name: c, parent: '{x}'}\n"}},
                                       diagnostics, Together::no));
    CHECK(lines(diagnostics).size() == 1);
}

TEST_CASE("all errors at once, bounded") {
    std::string quotas;
    for (int i = 0; i < 2000; ++i) {
        quotas += "  - {name: q" + std::to_string(i) + ", mode: bad}\n";
    }
    Diagnostics diagnostics;
    const auto sets = parse_quota_sets({{"q.yaml", kHead + quotas}}, diagnostics);
    CHECK(diagnostics.error_count() == 2000);
    CHECK(diagnostics.sorted().size() == Diagnostics::kMaxKept);
    CHECK(diagnostics.text().find("and 1900 more\n") != std::string::npos);
}

TEST_CASE("warnings do not take the place of errors") {
    Diagnostics diagnostics;
    for (std::size_t i = 0; i < Diagnostics::kMaxKept + 5; ++i) {
        diagnostics.add({Severity::warning, "a.yaml", {}, {}, "odd", {}});
    }
    diagnostics.add({Severity::error, "a.yaml", {}, {}, "wrong", {}});
    CHECK(diagnostics.error_count() == 1);
    CHECK_FALSE(diagnostics.full());
    CHECK(diagnostics.sorted().size() == Diagnostics::kMaxKept + 1);
    CHECK(diagnostics.text().find("wrong\n") != std::string::npos);
    CHECK(diagnostics.text().find("and 5 more\n") != std::string::npos);
}

TEST_CASE("of a quota with too many limits only so many are read that the rules refuse it") {
    std::string limits;
    for (int i = 1; i <= 100; ++i) {
        limits += "{rate: 5r/s}, ";
    }
    Diagnostics diagnostics;
    const auto sets = parse_quota_sets(
        {{"q.yaml", kHead + ("  - {name: a, limits: [" + limits + "]}\n")}}, diagnostics);
    CHECK(diagnostics.text().find("quotas[0].limits: more than 8 limits in a quota") !=
          std::string::npos);
    CHECK(sets[0].quotas[0].limits.size() == limiter::kMaxLimitsPerQuota + 1);
}

TEST_CASE("the path of a value in a list tells its place") {
    Diagnostics diagnostics;
    CHECK_FALSE(
        parse_quota({"body", R"({"name": "a", "limits": [{"rate": "1r/s"}, 7, 8]})"}, diagnostics)
            .has_value());
    REQUIRE(diagnostics.error_count() >= 2);
    CHECK(diagnostics.sorted()[0].path == "limits[1]");
    CHECK(diagnostics.sorted()[1].path == "limits[2]");
}

TEST_CASE("one quota, as the admin API takes it") {
    CHECK(one(R"({"name": "a", "limits": [{"rate": "5r/m"}]})").limits[0].period == 1min);
    Diagnostics diagnostics;
    CHECK_FALSE(parse_quota({"body", "{\"name\": \"a\", \"limits\": [{\"rate\": 5}]}"}, diagnostics)
                    .has_value());
    REQUIRE(lines(diagnostics).size() == 1);
    CHECK(lines(diagnostics)[0].find("body:1:35: limits[0].rate: '5': a rate is") == 0);
    Diagnostics two;
    CHECK_FALSE(parse_quota({"body", "name: a\n---\nname: b\n"}, two).has_value());
    CHECK(lines(two) == Lines{"body: must hold exactly one quota"});
}

rc::Gen<limiter::RateLimit> arbitrary_limit() {
    return rc::gen::exec([] {
        limiter::RateLimit limit;
        limit.unit = static_cast<Unit>(*rc::gen::inRange(0, 4));
        limit.amount = *rc::gen::inRange(0, 1'000'000);
        limit.period = std::chrono::milliseconds(*rc::gen::inRange(1, 100'000'000));
        const auto burst = [] {
            return BurstSpec{static_cast<BurstSpec::Kind>(*rc::gen::inRange(0, 2)),
                             *rc::gen::inRange(0, 10'000) / 8.0};
        };
        limit.low = *rc::gen::arbitrary<bool>() ? std::optional(burst()) : std::nullopt;
        limit.high = *rc::gen::arbitrary<bool>() ? std::optional(burst()) : std::nullopt;
        limit.debt = *rc::gen::arbitrary<bool>() ? std::optional(burst()) : std::nullopt;
        limit.law = static_cast<limiter::Law>(*rc::gen::inRange(0, 2));
        limit.scope = static_cast<limiter::Scope>(*rc::gen::inRange(0, 2));
        if (*rc::gen::arbitrary<bool>()) {
            limit.safe = *rc::gen::inRange(0, 10'000) / 8.0;
        }
        return limit;
    });
}

limiter::QuotaOptions arbitrary_options() {
    limiter::QuotaOptions options;
    const auto text = [] {
        return *rc::gen::container<std::string>(rc::gen::inRange<char>('!', '~'));
    };
    options.enforced_by = text();
    if (*rc::gen::arbitrary<bool>()) {
        options.headers =
            limiter::HeaderForms{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
    }
    options.refusal.status = *rc::gen::element<std::uint16_t>(0, 400, 429, 503, 599);
    options.refusal.content_type = text();
    if (*rc::gen::arbitrary<bool>()) {
        options.refusal.body = text();
    }
    if (*rc::gen::arbitrary<bool>()) {
        options.hold = std::chrono::milliseconds(*rc::gen::inRange(0, 3'600'001));
    }
    if (*rc::gen::arbitrary<bool>()) {
        options.wait.longest = std::chrono::milliseconds(*rc::gen::inRange(1, 60'001));
        options.wait.queue = *rc::gen::inRange<std::uint32_t>(0, 50'001);
    }
    return options;
}

TEST_CASE("a definition survives being written and read") {
    const bool holds = rc::check("quota_json and parse_quota", [] {
        limiter::QuotaDefinition quota;
        quota.name =
            *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>('!', '~')));
        if (*rc::gen::arbitrary<bool>()) {
            quota.parent = "p\xc3\xa4rent \"quoted\"";
        }
        quota.mode = static_cast<limiter::Mode>(*rc::gen::inRange(0, 3));
        quota.max_instances = *rc::gen::inRange(0U, 1000U);
        quota.max_children = *rc::gen::inRange(0U, 1000U);
        quota.hide_headers = *rc::gen::arbitrary<bool>();
        quota.when_isolated = static_cast<limiter::IsolationMode>(*rc::gen::inRange(0, 3));
        quota.enforced_share = *rc::gen::inRange(0, 1'000'001) / 1e6;
        quota.options = arbitrary_options();
        const auto limits = *rc::gen::inRange<std::size_t>(0, limiter::kMaxLimitsPerQuota + 1);
        quota.limits =
            *rc::gen::container<std::vector<limiter::RateLimit>>(limits, arbitrary_limit());
        Diagnostics diagnostics;
        const auto read = parse_quota({"q.json", quota_json(quota, 2)}, diagnostics);
        RC_ASSERT(diagnostics.text().empty());
        RC_ASSERT(read == quota);
    });
    CHECK(holds);
}

}  // namespace
}  // namespace weir::config
