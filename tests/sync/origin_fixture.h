#pragma once
// An origin with a real limiter and a virtual clock, which keeps what it tells its owners, and
// which may do something in the middle of that, as a worker might. For tests.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "definitions/quota.h"
#include "sim/quota_set.h"
#include "sync/limiter_fixture.h"
#include "sync/reporter.h"

namespace weir::sync::test {

using namespace std::chrono_literals;
using definitions::test::quota;

/// A quota of 100 requests in the period.
inline limiter::QuotaDefinition every(std::string name, Duration period) {
    limiter::QuotaDefinition definition = quota(std::move(name), 100);
    definition.limits[0].period = period;
    return definition;
}

inline LimitKey key_of(std::string_view name, Duration period) {
    LimitKey key;
    key.quota = quota_hash(name);
    key.unit = static_cast<std::uint8_t>(limiter::Unit::requests);
    key.period_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(period).count());
    return key;
}

/// Does something once, in the middle of what the control thread does, as a worker might.
struct Meanwhile final : WeightLedger {
    void note(const LimitKey&, std::uint32_t, WeightFate, double) override {}
    void counted_quietly(const LimitKey&, double) override { happen(); }
    void run_began(const LimitKey&, std::uint32_t) override {}
    void happen() {
        if (const auto one = std::exchange(act, nullptr)) {
            one();
        }
    }
    std::function<void()> act;
};

/// An origin whose quotas are edited and used, and which tells its owners so.
struct Origin : LimiterFixture, DeltaSink, QuietSink {
    void send_delta(const gossip::MemberId&, const DeltaEntry& entry) override {
        deltas.push_back(entry);
        --room;
        meanwhile.happen();
    }
    bool has_room_for_delta(const gossip::MemberId&, bool) override { return room > 0; }
    void send_quiet(const gossip::MemberId&, const QuietEntry& entry) override {
        told.push_back(entry);
        if (answers) {
            quiet.acknowledge(said_in(entry), now);
        }
    }

    void edit(const limiter::QuotaDefinition& definition) {
        REQUIRE(sim::put_quota(limiter, definition, now).empty());
    }
    void tick() {
        now += 10ms;
        reporter.adopt_touched(now, owners, hot);
        std::vector<LimitKey> stuck;
        quiet.tick(owners, now, *this, stuck);
        reporter.tick(now, *this);
    }
    /// Uses the limit of the quota, and wakes it as its owner would.
    void wake(std::string_view name, Duration period = 1s) {
        use(name);
        tick();
        reporter.wake_quiet(key_of(name, period), 0, 0, now, owners);
    }

    HotTable hot{10};
    Side side;
    std::vector<DeltaEntry> deltas;
    int room = 1'000'000;  // for so many deltas
    std::vector<QuietEntry> told;
    bool answers = true;
    Meanwhile meanwhile;
    QuietLimits quiet{settings, limiter, Random(8), statistics, &meanwhile};
    Reporter reporter{settings, limiter, side, quiet, Random(7), statistics};
};

}  // namespace weir::sync::test
