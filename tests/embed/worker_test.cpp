// What a worker makes of the limiter's reasons, those among them that need a fleet in trouble.

#include "embed/worker.h"

#include <doctest/doctest.h>

#include <vector>

#include "embed/fork_count.h"
#include "net/clock.h"
#include "sim/quota_set.h"

namespace weir::embed {
namespace {

TEST_CASE("a quota that is isolated and pessimistic refuses with a reason of its own") {
    limiter::Limiter limiter{limiter::LimiterOptions{}};
    limiter::QuotaDefinition definition;
    definition.name = "strict";
    definition.when_isolated = limiter::IsolationMode::pessimistic;
    definition.limits.emplace_back().amount = 1000;
    REQUIRE(sim::replace_quotas(limiter, std::vector{definition}, net::now()).empty());
    limiter::ThreadContext& context = limiter.register_thread(1);
    limiter.drain_active([](limiter::LimitRef) {});  // from now on what is used is told
    EmbeddedWorker worker(limiter, context, ForkCount::here(), 1);
    const weir_request request = WEIR_REQUEST_INIT;
    weir_decision decision{};
    const auto check = [&] {
        decision = {};
        worker.check("strict", request, decision);
        return decision.reason;
    };
    CHECK(check() == WEIR_REASON_NONE);
    const auto limit = limiter.lookup("strict", limiter::Unit::requests, std::chrono::seconds(1));
    REQUIRE(limit.has_value());
    REQUIRE(limiter.isolate(*limit, true, net::now()));
    CHECK(check() == WEIR_REASON_ISOLATED);
    CHECK(decision.admitted == 0);
    CHECK(decision.retry_after_seconds >= 1);
    REQUIRE(limiter.isolate(*limit, false, net::now()));
    CHECK(check() == WEIR_REASON_NONE);
    CHECK(worker.counts().refused.get() == 1);
}

}  // namespace
}  // namespace weir::embed
