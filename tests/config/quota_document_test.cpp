#include "config/quota_document.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

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
          Lines{"q.yaml:7:14: quotas[0].limits[0]: a limit needs its 'rate'",
                "q.yaml:7:15: quotas[0].limits[0].rat: unknown field, did you mean 'rate'?"});
    CHECK(errors_with("  - name: a\n    colour: red\n") ==
          Lines{"q.yaml:7:5: quotas[0].colour: unknown field"});
}

TEST_CASE("kinds that are not in this version say so and are never ignored") {
    for (const std::string kind : {"window: 1000000r/30d", "concurrency: 64", "lease: 10r/s"}) {
        CAPTURE(kind);
        const std::string key = kind.substr(0, kind.find(':'));
        CHECK(errors_with("  - name: a\n    limits: [{" + kind + "}]\n") ==
              Lines{"q.yaml:7:15: quotas[0].limits[0]." + key + ": not in this version"});
    }
    CHECK(errors_with("  - name: a\n    enforce: 25%\n    limits: [{rate: 1r/s}]\n") ==
          Lines{"q.yaml:7:5: quotas[0].enforce: not in this version"});
    CHECK(errors_with("  - name: a\n    silence: pessimistic\n    safe: 1r/s\n") ==
          Lines{"q.yaml:7:5: quotas[0].silence: not in this version",
                "q.yaml:8:5: quotas[0].safe: not in this version"});
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
    REQUIRE(found.size() == 3);
    CHECK(found[0] == "two.json:1:1: the set 'a' is given twice, first in one.yaml");
    CHECK(found[1] == "two.json:3:22: quotas[0].name: defined twice");
    CHECK(found[2] == "two.json:3:52: quotas[1].parent: there is no quota 'nobody'");
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
    CHECK(diagnostics.text().find("and 1000 more\n") != std::string::npos);
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
        return limit;
    });
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
        quota.limits = *rc::gen::container<std::vector<limiter::RateLimit>>(arbitrary_limit());
        Diagnostics diagnostics;
        const auto read = parse_quota({"q.json", quota_json(quota, 2)}, diagnostics);
        RC_ASSERT(diagnostics.text().empty());
        RC_ASSERT(read == quota);
    });
    CHECK(holds);
}

}  // namespace
}  // namespace weir::config
