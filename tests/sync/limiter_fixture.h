#pragma once
// A real limiter with one worker and a virtual clock, and who owns its limits. For tests of an
// origin.

#include <string_view>

#include <doctest/doctest.h>

#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/settings.h"
#include "sync/statistics.h"

namespace weir::sync::test {

struct LimiterFixture {
    void use(std::string_view name, int times = 1) {
        const auto leaf = limiter.find(thread, name, now);
        for (int i = 0; i < times; ++i) {
            REQUIRE(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).admitted);
        }
        limiter.quiescent(thread);
    }

    Instant now{1h};
    limiter::Limiter limiter{{.seed = 5}};
    limiter::ThreadContext& thread = limiter.register_thread(6);
    SyncSettings settings;
    SyncStatistics statistics;
    membership::Owners owners;
};

}  // namespace weir::sync::test
