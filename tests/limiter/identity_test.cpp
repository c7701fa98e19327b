// Which record of an instance belongs to which limit, whatever definitions come, change and go:
// any number of different periods in one process.

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "limiter/compiled_definition.h"
#include "limiter/fixture.h"
#include "limiter/record.h"
#include "limiter/terms_pool.h"

namespace weir::limiter {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::quota;

/// `amount` in so many seconds, with the whole of it as a hard edge.
RateLimit every(Duration period, double amount = 1, Unit unit = Unit::requests) {
    RateLimit limit;
    limit.unit = unit;
    limit.amount = amount;
    limit.period = period;
    limit.low = BurstSpec{BurstSpec::Kind::amount, amount};
    limit.high = limit.low;
    return limit;
}

std::string numbered(std::string_view prefix, int number) {
    return std::string(prefix) + std::to_string(number);
}

TEST_CASE("as many different periods as there are definitions") {
    constexpr int kQuotas = 2000;
    std::vector<QuotaDefinition> definitions;
    for (int i = 1; i <= kQuotas; ++i) {
        definitions.push_back(quota(numbered("m", i), {every(i * 1s)}));
    }
    Fixture fixture(definitions);
    REQUIRE(fixture.errors.empty());
    int enforced = 0;
    for (int i = 1; i <= kQuotas; ++i) {
        const bool first = fixture.admits(numbered("m", i));
        enforced += first && !fixture.admits(numbered("m", i)) ? 1 : 0;
    }
    CHECK(enforced == kQuotas);
    const auto status = fixture.limiter.inspect("m1777", fixture.now);
    REQUIRE(status.size() == 1);
    CHECK(status[0].limit.period == 1777s);
}

TEST_CASE("the same one by one, as changes and as edits of single quotas") {
    Fixture fixture;
    std::size_t refused = 0;
    for (int i = 1; i <= 700; ++i) {
        const QuotaDefinition made = quota(numbered("m", i), {every(i * 1ms)});
        if (i % 2 == 0) {
            const DefinitionChange change{made.name, made};
            refused += fixture.limiter.change({&change, 1}, fixture.now);
        } else {
            refused += fixture.put(made).size();
        }
    }
    CHECK(refused == 0);
    CHECK(fixture.admits("m700"));
    CHECK_FALSE(fixture.admits("m700"));
    CHECK(fixture.admits("m699"));
    CHECK_FALSE(fixture.admits("m699"));
}

TEST_CASE("a quota edited to one period after another is enforced at each, in bounded memory") {
    Fixture fixture({quota("a", {every(1s)})});
    for (int i = 2; i <= 3000; ++i) {
        REQUIRE(fixture.admits("a"));  // nothing of earlier limits is left in it
        REQUIRE_FALSE(fixture.admits("a"));
        REQUIRE(fixture.put(quota("a", {every(i * 1s)})).empty());
    }
    const auto status = fixture.limiter.inspect("a", fixture.now);
    REQUIRE(status.size() == 1);
    CHECK(status[0].limit.period == 3000s);
    CHECK(fixture.limiter.memory().instances == 1);
    CHECK(fixture.limiter.memory().records <= 1 + kMaxFormer + 1);
}

TEST_CASE("limits that come and go leave no more records than former limits have") {
    Fixture fixture({quota("a", {every(1h)})});
    REQUIRE(fixture.admits("a"));
    for (int i = 2; i <= 100; ++i) {
        REQUIRE(fixture.put(quota("a", {every(1h), every(i * 1s)})).empty());
        REQUIRE(fixture.put(quota("a", {every(1h)})).empty());
    }
    CHECK_FALSE(fixture.admits("a"));  // its own limit has not been touched
    CHECK(fixture.limiter.memory().records <= 1 + kMaxFormer + 1);
}

TEST_CASE("an edited period is enforced for all though no record is free") {
    LimiterOptions options = Fixture::small();
    options.max_instances = 4000;
    Fixture fixture({quota("k/{key}", {every(1h)})}, options);
    for (int i = 0; i < 4000; ++i) {
        REQUIRE(fixture.admits(numbered("k/", i)));
    }
    // Two records for each of 4,000 are there, but not five.
    for (int edit = 2; edit <= 5; ++edit) {
        REQUIRE(fixture.put(quota("k/{key}", {every(edit * 1h)})).empty());
        int admitted = 0;
        for (int i = 0; i < 4000; ++i) {
            admitted += fixture.admits(numbered("k/", i)) ? 1 : 0;
            admitted += fixture.admits(numbered("k/", i)) ? 1 : 0;
        }
        CAPTURE(edit);
        CHECK(admitted == 4000);  // one each by the new limit
    }
}

TEST_CASE("a limit that comes back finds its level") {
    Fixture fixture({quota("a", {every(1h, 10)})});
    for (int i = 0; i < 10; ++i) {
        REQUIRE(fixture.admits("a"));
    }
    for (int i = 1; i <= 8; ++i) {
        REQUIRE(fixture.put(quota("a", {every(i * 2h, 10)})).empty());
    }
    REQUIRE(fixture.put(quota("a", {every(1h, 10)})).empty());
    CHECK(fixture.level("a") > 9.9);
    CHECK_FALSE(fixture.admits("a"));
}

long in_s(Duration period) { return static_cast<long>(to_seconds(period)); }

/// By period in seconds.
using Levels = std::vector<std::pair<long, long>>;
Levels levels_of(Fixture& fixture) {
    Levels levels;
    for (const LimitStatus& status : fixture.limiter.inspect("t/x", fixture.now)) {
        levels.emplace_back(in_s(status.limit.period), std::lround(status.level));
        CAPTURE(levels.back().first);
        CHECK(status.level == doctest::Approx(static_cast<double>(levels.back().second)));
    }
    std::sort(levels.begin(), levels.end());
    return levels;
}

TEST_CASE(
    "limits keep their levels when an instance moves to a definition that orders them "
    "otherwise, and back") {
    // Many different ones, so that some of their numbers meet in one byte.
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        const Duration first = (round + 1) * 1h;
        const Duration second = (round + 1) * 1h + 1s;
        const Duration third = (round + 1) * 1h + 2s;
        Fixture fixture({quota("t/{k}", {every(first, 10), every(second, 20), every(third, 40)})});
        Weights weights;
        weights.requests = 5;
        REQUIRE(fixture.check("t/x", weights).admitted);
        REQUIRE(fixture.put(quota("t/x", {every(1min, 7), every(third, 40), every(second, 20)}))
                    .empty());
        REQUIRE(levels_of(fixture) == Levels{{60, 0}, {in_s(second), 5}, {in_s(third), 5}});
        REQUIRE(fixture.check("t/x", weights).admitted);
        REQUIRE(fixture.take_away("t/x").empty());
        REQUIRE(levels_of(fixture) ==
                Levels{{in_s(first), 0}, {in_s(second), 10}, {in_s(third), 10}});
    }
}

TEST_CASE("any edits: a limit has its own record, of a number of its own") {
    CHECK(rc::check("numbers", [] {
        // Each edit: some of 40 periods, in any order.
        const auto edits = *rc::gen::container<std::vector<std::vector<int>>>(
            rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 41)));
        SharedTerms before;
        std::map<int, Duration> meant;  // by number, of what the last compile_terms() knew
        for (const std::vector<int>& chosen : edits) {
            std::vector<RateLimit> limits;
            std::set<int> known_periods;
            for (const int period : chosen) {
                if (limits.size() < kMaxLimitsPerQuota && known_periods.insert(period).second) {
                    limits.push_back(every(period * 1s));
                }
            }
            const auto compiled = compile_terms(quota("a", limits), before.get(), false);
            std::map<int, Duration> now;
            for (const CompiledLimit& limit : compiled->limits) {
                RC_ASSERT(limit.identity != kNoIdentity);
                RC_ASSERT(now.emplace(limit.identity, limit.period).second);
                const auto known = meant.find(limit.identity);
                const bool fresh =
                    before == nullptr || !before->knows(LimitKind::rate, limit.unit, limit.period);
                RC_ASSERT(fresh == (known == meant.end() || known->second != limit.period));
            }
            RC_ASSERT(compiled->former.size() <= kMaxFormer);
            for (const FormerLimit& limit : compiled->former) {
                RC_ASSERT(now.emplace(limit.identity, limit.period).second);
            }
            meant = now;
            before = compiled;
        }
    }));
}

TEST_CASE("definitions with equal limits and options share what is compiled of them") {
    TermsPool pool;
    const QuotaDefinition first = quota("a", {every(1s), every(1min, 5)});
    QuotaDefinition second = first;
    second.name = "b";
    second.parent = "a";
    const auto terms = pool.terms_of(first, nullptr, false);
    CHECK(pool.terms_of(second, nullptr, false) == terms);
    CHECK(pool.terms_of(second, terms.get(), false) == terms);  // an edit of the parent alone
    CHECK(pool.terms_of(second, nullptr, true) != terms);
    for (const auto& change : std::initializer_list<void (*)(QuotaDefinition&)>{
             [](QuotaDefinition& changed) { changed.limits[0].amount = 2; },
             [](QuotaDefinition& changed) { changed.limits[1].law = Law::linear; },
             [](QuotaDefinition& changed) { changed.limits.pop_back(); },
             [](QuotaDefinition& changed) { changed.mode = Mode::shadow; },
             [](QuotaDefinition& changed) { changed.max_children = 3; },
             [](QuotaDefinition& changed) {
                 changed.options = QuotaOptions{.enforced_by = "k"};
             }}) {
        QuotaDefinition changed = first;
        change(changed);
        const auto other = pool.terms_of(changed, nullptr, false);
        CHECK(other != terms);
        CHECK(other->source.limits == changed.limits);
    }
    // Limits that were taken away are remembered, so these are other terms than those of a new
    // quota.
    QuotaDefinition less = first;
    less.limits.pop_back();
    const auto edited = pool.terms_of(less, terms.get(), false);
    CHECK(edited->former.size() == 1);
    CHECK(edited != pool.terms_of(less, nullptr, false));
    CHECK(edited == pool.terms_of(less, terms.get(), false));
}

TEST_CASE("terms that no definition has any more are forgotten") {
    TermsPool pool;
    for (int i = 0; i < 100'000; ++i) {
        static_cast<void>(pool.terms_of(quota("a", {every(1s, i)}), nullptr, false));
    }
    CHECK(pool.size() <= 2048);
}

TEST_CASE("the engine's reference to a record means nothing once its limit is gone for good") {
    Fixture fixture({quota("a", {every(1s)})});
    REQUIRE(fixture.admits("a"));
    const LimitRef old = fixture.reference("a");
    REQUIRE(fixture.limiter.read(old, fixture.now));
    const std::uint64_t before = fixture.limiter.counters().cleared;
    for (int i = 2; i <= 30; ++i) {
        REQUIRE(fixture.put(quota("a", {every(i * 1s)})).empty());
    }
    CHECK(fixture.limiter.counters().cleared > before);  // tells whoever holds references
    CHECK(fixture.limiter.memory().views == 0);
    const auto identity = fixture.limiter.identity(old);
    CHECK((!identity || identity->period != Duration(1s)));
}

}  // namespace
}  // namespace weir::limiter
