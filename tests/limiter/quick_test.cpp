#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "fixture.h"
#include "limiter/decay.h"
#include "limiter/record.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

/// Three levels: a smooth root, smooth parents, leaves with a hard edge. A debt that is written
/// out keeps a limit away from check_quickly(); its value is the default's.
std::vector<QuotaDefinition> tree(bool quick) {
    RateLimit bytes = per_second(64'000);
    bytes.unit = Unit::request_bytes;
    std::vector<QuotaDefinition> definitions{quota("t", {per_second(64), bytes}),
                                             quota("t/{x}", {per_second(32), per_minute(960)}, "t"),
                                             quota("t/{x}/r", {per_second(16)}, "t/{x}")};
    for (QuotaDefinition& definition : definitions) {
        for (RateLimit& limit : definition.limits) {
            if (!quick) {
                limit.debt = BurstSpec{BurstSpec::Kind::seconds, 0.2};
            }
        }
    }
    return definitions;
}

void check_alike(const Decision& quick, const Decision& slow, std::string_view quick_quota,
                 std::string_view slow_quota) {
    RC_ASSERT(quick.admitted == slow.admitted);
    RC_ASSERT(quick_quota == slow_quota);
    RC_ASSERT(quick.period == slow.period);
    RC_ASSERT(std::abs(quick.remaining - slow.remaining) <= 1e-9);
    RC_ASSERT(std::abs(quick.discard_probability - slow.discard_probability) <= 1e-9);
    RC_ASSERT(quick.charge.charged == slow.charge.charged);
    RC_ASSERT(std::abs((quick.retry_after - slow.retry_after).count()) <= 1000);
}

}  // namespace

TEST_CASE("the quick decision is the same as the slow one") {
    const auto law = [](const std::vector<std::tuple<std::uint8_t, std::uint8_t, bool>>& requests) {
        Fixture quick(tree(true));
        Fixture slow(tree(false));
        for (const auto& [leaf, gap, half] : requests) {
            const std::string name = std::string("t/") + std::string(1, "abc"[leaf % 3]) + "/r";
            Weights weights;
            weights.requests = half && gap % 8 == 0 ? 0.5 : 1;
            weights.request_bytes = 16.0 * gap;
            for (int burst = 0; burst <= leaf % 16; ++burst) {
                const Decision mine = quick.check(name, weights);
                const Decision other = slow.check(name, weights);
                check_alike(mine, other, quick.limiter.quota_name(mine),
                            slow.limiter.quota_name(other));
            }
            quick.wait(gap / 128.0);
            slow.wait(gap / 128.0);
            for (const char* quota : {"t", "t/a", "t/a/r"}) {
                RC_ASSERT(std::abs(quick.level(quota, 0) - slow.level(quota, 0)) < 1e-6);
                RC_ASSERT(std::abs(quick.level(quota, 1) - slow.level(quota, 1)) < 1e-6);
            }
        }
    };
    CHECK(rc::check(law));
}

TEST_CASE("a quick charge can be given back and is counted for the engine") {
    Fixture fixture(tree(true));
    for (int i = 0; i < 3; ++i) {
        CHECK(fixture.admits("t/a/r"));  // the first one makes the instances, the others are quick
    }
    const Decision decision = fixture.check("t/a/r");
    CHECK(fixture.level("t") == doctest::Approx(4));
    CHECK(fixture.level("t/a", 1) == doctest::Approx(4));
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    CHECK(fixture.level("t") == doctest::Approx(3));
    CHECK(fixture.level("t/a", 1) == doctest::Approx(3));
    CHECK(fixture.level("t/a/r") == doctest::Approx(3));
    std::size_t active = 0;
    fixture.limiter.drain_active([&](LimitRef limit) {
        const auto counts = fixture.limiter.read(limit, fixture.now);
        REQUIRE(counts);
        const bool in_bytes = fixture.limiter.identity(limit)->unit == Unit::request_bytes;
        CHECK(counts->admitted - counts->refunded == doctest::Approx(in_bytes ? 0 : 3));
        ++active;
    });
    CHECK(active == 5);
}

TEST_CASE("a quick charge moves the running mean; one too heavy for that is not quick") {
    Fixture fixture({quota("q", {per_second(1000)})});
    const auto typical_after = [&](double weight) {
        CHECK(fixture.admits("q", weight));
        return fixture.limiter.read(fixture.reference("q"), fixture.now)->typical;
    };
    CHECK(typical_after(4) == doctest::Approx(4));
    CHECK(typical_after(8) == doctest::Approx(4 + 4.0 / 32));
    CHECK(typical_after(8) == doctest::Approx(4.125 + 3.875 / 32));
    CHECK(fixture.limiter.read(fixture.reference("q"), fixture.now)->heaviest == 0);
    CHECK(fixture.admits("q", 300));  // more than a fifth of a second's
    CHECK(fixture.limiter.read(fixture.reference("q"), fixture.now)->heaviest ==
          doctest::Approx(300));
    CHECK(fixture.level("q") == doctest::Approx(320));
}

TEST_CASE("the running mean comes home after a heavy request, and the usual charge with it") {
    Fixture fixture({quota("q", {per_second(1000)})});
    CHECK(fixture.admits("q", 10));
    for (int i = 0; i < 2000; ++i) {
        CHECK(fixture.admits("q"));
        fixture.wait(0.002);
    }
    CHECK(fixture.limiter.read(fixture.reference("q"), fixture.now)->typical == 1);
}

TEST_CASE("powers by table are those of the exponential function") {
    const PowerTable table(std::exp(-kTickSeconds / 0.3));
    for (const std::uint32_t steps : {0U, 1U, 255U, 256U, 257U, 1000U, 5000U}) {
        CHECK(static_cast<double>(table(steps)) ==
              doctest::Approx(std::exp(-double{1} * steps * kTickSeconds / 0.3)).epsilon(1e-5));
    }
    CHECK(table(65'535) == 0);
    CHECK(table(65'536) == 0);
    CHECK(table(~0U) == 0);
}
