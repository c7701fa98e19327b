// What is used before the first tick is noted where somebody is told of it.

#include <doctest/doctest.h>

#include "engine/engine.h"
#include "limiter/limiter.h"
#include "sim/quota_set.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

/// How many limits are noted to be in use after one request, which came before any tick.
std::size_t noted_after_one_request(bool clustered) {
    limiter::Limiter limiter({.seed = 1});
    limiter::ThreadContext& thread = limiter.register_thread(2);
    EngineOptions options;
    options.cluster_name = "test";
    options.advertise = Endpoint::v4(0x0a000001, 7946);
    options.clustered = clustered;
    const Engine engine(std::move(options), limiter, 3);
    const Instant now{1h};
    limiter::QuotaDefinition definition;
    definition.name = "q";
    definition.limits = {limiter::RateLimit::in_window(100, 1min)};
    REQUIRE(sim::put_quota(limiter, definition, now).empty());
    const auto leaf = limiter.find(thread, "q", now);
    REQUIRE(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).admitted);
    std::size_t noted = 0;
    limiter.drain_active([](limiter::LimitRef) {});
    limiter.drain_windows([&](limiter::LimitRef) { ++noted; });
    return noted;
}

TEST_CASE("a request before the first tick is told to the fleet, if there is one") {
    CHECK(noted_after_one_request(true) == 1);
    CHECK(noted_after_one_request(false) == 0);
}

}  // namespace
}  // namespace weir::engine
