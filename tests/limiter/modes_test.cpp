// Quotas that are enforced for a share of their keys, and weights that are known later.

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "limiter/fixture.h"
#include "tolerance.h"

namespace weir::limiter {
namespace {

using namespace testing;
using weir::testing::plus_minus;

constexpr int kKeys = 10'000;

/// A parent with room for all, and children that refuse everything for their share of keys.
std::vector<QuotaDefinition> closed(double share) {
    QuotaDefinition child = quota("c/{key}", {per_second(0)}, "p");
    child.enforced_share = share;
    return {quota("p", {per_second(1e6)}), child};
}

std::set<int> refused_keys(double share) {
    LimiterOptions options = Fixture::small();
    options.max_instances = 2 * kKeys;
    Fixture fixture(closed(share), options);
    std::set<int> refused;
    for (int key = 0; key < kKeys; ++key) {
        if (!fixture.admits("c/" + std::to_string(key))) {
            refused.insert(key);
        }
    }
    return refused;
}

TEST_CASE("a share of keys is enforced, and a larger share only adds keys") {
    CHECK(refused_keys(0).empty());
    CHECK(refused_keys(1).size() == kKeys);
    std::set<int> before;
    for (const double share : {0.01, 0.25, 0.5, 0.9}) {
        const std::set<int> keys = refused_keys(share);
        const double deviation = std::sqrt(share * (1 - share) * kKeys);
        CHECK(static_cast<double>(keys.size()) == plus_minus(share * kKeys, 4 * deviation));
        for (const int key : before) {
            CHECK(keys.contains(key));
        }
        before = keys;
    }
}

TEST_CASE("a key stays on its side, in every sidecar") {
    LimiterOptions other = Fixture::small();
    other.seed = 77;
    Fixture one(closed(0.5));
    Fixture two(closed(0.5), other);
    for (int key = 0; key < 200; ++key) {
        const std::string name = "c/" + std::to_string(key);
        const bool admitted = one.admits(name);
        CHECK(two.admits(name) == admitted);
        CHECK(one.admits(name) == admitted);
    }
}

struct OneField final : RequestFields {
    explicit OneField(std::string text) : text_(std::move(text)) {}
    [[nodiscard]] std::string_view value(std::string_view field) const override {
        return field == "x-client" ? std::string_view(text_) : std::string_view();
    }

  private:
    std::string text_;
};

TEST_CASE("a request field as the key") {
    QuotaDefinition one = quota("q", {per_second(0)});
    one.enforced_share = 0.25;
    QuotaOptions options;
    options.enforced_by = "x-client";
    one.options = options;
    Fixture fixture({one});
    const auto admits = [&](const std::string& client) {
        const OneField fields(client);
        return fixture.limiter
            .check(fixture.thread, fixture.find("q"), {}, fixture.now, CheckMode::charge, &fields)
            .admitted;
    };
    int refused = 0;
    for (int client = 0; client < kKeys; ++client) {
        const std::string name = "client-" + std::to_string(client);
        const bool admitted = admits(name);
        refused += admitted ? 0 : 1;
        if (client < 100) {
            CHECK(admits(name) == admitted);
        }
    }
    CHECK(refused == plus_minus(0.25 * kKeys, 4 * 43));
    // Without a value the leaf's name is the key: all such requests are one.
    CHECK(admits("") == fixture.admits("q"));
}

TEST_CASE(
    "a partly enforced limit charges its bucket as if it were enforced, parents what passed") {
    // 200 keys offer twice the limit for ten seconds; a quarter of them is refused what exceeds it.
    Random random(3);
    QuotaDefinition shared = quota("q", {borders(100, 100, 200)}, "p");
    shared.enforced_share = 0.25;
    QuotaDefinition leaf = quota("q/{key}", {}, "q");
    Fixture fixture({quota("p", {borders(1e6, 1e9, 1e9)}), shared, leaf});
    QuotaDefinition full = shared;
    full.enforced_share = 1;
    Fixture enforced({quota("p", {borders(1e6, 1e9, 1e9)}), full, leaf});
    int passed = 0;
    int offered = 0;
    const Instant end = fixture.now + from_seconds(10);
    while (fixture.now < end) {
        const double gap = random.exponential(200);
        fixture.wait(gap);
        enforced.wait(gap);
        const std::string name = "q/" + std::to_string(random.below(200));
        passed += fixture.admits(name) ? 1 : 0;
        (void)enforced.admits(name);
        ++offered;
    }
    DefinitionStatistics partly;
    fixture.limiter.for_each_statistics(fixture.now, [&](const DefinitionStatistics& figures) {
        partly = figures.quota == "q" ? figures : partly;
        if (figures.quota == "p") {
            CHECK(figures.admitted == passed);
        }
    });
    double refused_in_full = 0;
    enforced.limiter.for_each_statistics(enforced.now, [&](const DefinitionStatistics& figures) {
        refused_in_full = figures.quota == "q" ? figures.refused : refused_in_full;
    });
    CHECK(partly.refused + passed == offered);
    CHECK(partly.refused > 0);
    CHECK(partly.shadow_refused > 0);
    // Two different lots decide: within a few percent of what full enforcement refuses.
    CHECK(partly.refused + partly.shadow_refused ==
          plus_minus(refused_in_full, 0.05 * refused_in_full));
    CHECK(fixture.level("q") == plus_minus(enforced.level("q"), 0.15 * enforced.level("q")));
}

TEST_CASE("options of the quota that a decision describes") {
    QuotaDefinition one = quota("q", {per_second(0)});
    QuotaOptions options;
    options.refusal.status = 503;
    one.options = options;
    Fixture fixture({one, quota("plain", {per_minute(1)})});
    const Decision refused = fixture.check("q");
    REQUIRE_FALSE(refused.admitted);
    REQUIRE(fixture.limiter.options(refused) != nullptr);
    CHECK(fixture.limiter.options(refused)->refusal.status == 503);
    CHECK(*fixture.limiter.options(fixture.check("plain")) == QuotaOptions{});
    CHECK(fixture.limiter.options(Decision{}) == nullptr);
}

RateLimit bytes_per_second(double amount) {
    RateLimit limit = per_second(amount);
    limit.unit = Unit::response_bytes;
    return limit;
}

TEST_CASE("weight that is corrected or given back after the decision reports the limit again") {
    Fixture fixture({quota("q", {bytes_per_second(1e6), per_second(10)})});
    const auto reported = [&fixture] {
        std::size_t limits = 0;
        fixture.limiter.drain_active([&](LimitRef) { ++limits; });
        return limits;
    };
    Decision decision = fixture.check("q");
    CHECK(reported() == 2);
    CHECK(reported() == 0);
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 300, fixture.now,
                            false);
    CHECK(reported() == 1);
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    CHECK(reported() == 2);
}

TEST_CASE("response bytes are charged by the mean of the true weights and corrected as they flow") {
    Fixture fixture({quota("q", {bytes_per_second(1e6)})});
    Decision first = fixture.check("q");
    CHECK(fixture.level("q") == 1);  // no response is known yet
    const auto correct = [&](Decision& decision, double bytes, bool last) {
        fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, bytes,
                                fixture.now, last);
    };
    correct(first, 300, false);
    CHECK(fixture.level("q") == 300);
    CHECK(fixture.check("q").charge.response_bytes == 1);  // steps do not move the mean
    correct(first, 1000, true);
    CHECK(fixture.level("q") == 1001);
    Decision second = fixture.check("q");
    CHECK(second.charge.response_bytes == 1000);
    CHECK(fixture.level("q") == 2001);
    correct(second, 200, true);
    CHECK(fixture.level("q") == 1201);
    CHECK(fixture.check("q").charge.response_bytes == 1000 - 800.0F / 32);
}

TEST_CASE("weight that is added counts for itself, and moves neither the charge nor the mean") {
    RateLimit limit = borders(1000, 1000, 1000);
    limit.unit = Unit::response_bytes;
    limit.debt = BurstSpec{BurstSpec::Kind::amount, 500};
    Fixture fixture({quota("q", {limit})});
    const Decision decision = fixture.check("q");
    for (int i = 0; i < 100; ++i) {
        fixture.limiter.add(fixture.thread, decision.charge, Unit::response_bytes, 700,
                            fixture.now);
    }
    CHECK(fixture.level("q") == 1700);
    CHECK(decision.charge.response_bytes == 1);
    CHECK(fixture.limiter.statistics_of("q", fixture.now)->admitted == 70'001);
    fixture.wait(2);
    CHECK(fixture.check("q").charge.response_bytes == 1);
}

TEST_CASE("the mean follows responses longer than it, not the differences") {
    Fixture fixture({quota("q", {bytes_per_second(1e9)})});
    for (int i = 0; i < 400; ++i) {
        Decision decision = fixture.check("q");
        const double bytes = i % 2 == 0 ? 1000 : 3000;
        fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, bytes,
                                fixture.now);
    }
    CHECK(static_cast<double>(fixture.check("q").charge.response_bytes) == plus_minus(2000, 100));
}

TEST_CASE("refunds and corrections are counted: admitted less refunded is what was charged") {
    Fixture fixture({quota("q", {bytes_per_second(1e9)}), quota("r", {per_second(1e6)}),
                     quota("r/leaf", {}, "r")});
    Decision bytes = fixture.check("q");
    fixture.limiter.correct(fixture.thread, bytes.charge, Unit::response_bytes, 5000, fixture.now);
    Decision less = fixture.check("q");
    fixture.limiter.correct(fixture.thread, less.charge, Unit::response_bytes, 2000, fixture.now);
    (void)fixture.check("r/leaf");
    fixture.limiter.refund(fixture.thread, fixture.check("r/leaf").charge, fixture.now);
    fixture.limiter.for_each_statistics(fixture.now, [](const DefinitionStatistics& figures) {
        CAPTURE(figures.quota);
        if (figures.quota == "q") {
            CHECK(figures.admitted == 10'000);
            CHECK(figures.refunded == 3000);
        } else if (figures.quota != "__other__") {
            CHECK(figures.admitted == 2);
            CHECK(figures.refunded == 1);
        }
    });
    CHECK(fixture.level("q") == 7000);
    CHECK(fixture.level("r") == 1);
}

}  // namespace
}  // namespace weir::limiter
