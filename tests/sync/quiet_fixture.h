#pragma once
// An origin of quiet limits with a real limiter and a virtual clock, which keeps what it tells its
// owners. For tests.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "definitions/quota.h"
#include "sim/quota_set.h"
#include "sync/limiter_fixture.h"
#include "sync/owned_fixture.h"
#include "sync/quiet_limits.h"

namespace weir::sync::test {

using definitions::test::quota;

inline LimitKey quiet_key(std::string_view name) {
    return {quota_hash(name), 0, static_cast<std::uint8_t>(limiter::Unit::requests), 1000};
}

/// Owners have everything at the same place here.
inline constexpr std::uint32_t kPlace = 77;
/// An origin among four members, one of which owns everything.
struct QuietOrigin : LimiterFixture, QuietSink {
    void send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) override {
        sent.emplace_back(owner, entry);
        if (answers) {
            quiet.acknowledge(said(entry), now);
        }
    }
    [[nodiscard]] QuietSaid said(const QuietEntry& entry) const {
        return {entry.key, entry.run, place, entry.admitted, entry.limit_rate, entry.low};
    }
    QuietOrigin() {
        owners.recompute(std::vector<membership::OwnerCandidate>{{member(0), {}}});
        quiet.set_members(4, now);
        pass(10ms);  // the limiter counts from the first look on
    }
    void define(std::string name, double rate) {
        REQUIRE(sim::put_quota(limiter, quota(std::move(name), rate), now).empty());
    }
    /// A limit of a day, which drains for a day.
    void define_slow(std::string name, double requests = 12) {
        limiter::QuotaDefinition slow = quota(std::move(name), requests);
        slow.limits[0].period = 24h;
        REQUIRE(sim::put_quota(limiter, slow, now).empty());
    }
    void pass(Duration time, Duration step = 10ms) {
        for (const Instant end = now + time; now < end;) {
            now += step;
            limiter.drain_active([&](limiter::LimitRef ref) {
                if (quiet.touch(ref, now)) {
                    return;
                }
                const auto identity = limiter.identity(ref);
                REQUIRE(identity);
                met +=
                    quiet.meet(ref, quiet_key(identity->quota), identity->parameters, now) ? 1 : 0;
            });
            quiet.tick(owners, now, *this, stuck);
        }
    }

    std::vector<std::pair<gossip::MemberId, QuietEntry>> sent;
    std::vector<LimitKey> stuck;
    bool answers = true;
    std::uint32_t place = kPlace;
    int met = 0;
    QuietLimits quiet{settings, limiter, Random(7), statistics};
};

}  // namespace weir::sync::test
