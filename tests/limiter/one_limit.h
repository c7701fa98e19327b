#pragma once
// The record of one limit with a view and a virtual clock, for tests of the bucket's operations
// without the rest of the limiter.

#include <doctest/doctest.h>

#include <cstdint>

#include "limiter/bucket.h"

namespace weir::limiter::testing {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kHour = 3600 * kSecond;

/// The record of a new instance.
struct OneLimit {
    explicit OneLimit(LimitParameters parameters) {
        limit.parameters = parameters;
        record.anchor.store(now);
        record.typical.store(-1);
        record.recent.store(pack(Recent{0, tick_of(now)}));
    }
    Bucket alone() { return {record, nullptr, limit}; }
    Bucket viewed() { return {record, &view, limit}; }
    double level() { return look_at(alone(), now).level; }
    double level_with_view() { return look_at(viewed(), now).level; }
    void wait(double seconds) { now += static_cast<std::int64_t>(seconds * 1e9); }
    std::uint32_t flags() const { return record.control.load() & ~kVersionMask; }
    /// Installs a view, as the limiter does.
    void install(const FleetView& fleet) {
        CHECK(try_lock(record));
        install_view(viewed(), fleet, renew(viewed(), now));
        unlock(record);
    }
    /// Renews the record as it is done without a view, at `later` from now.
    double renew_alone(std::int64_t later = 0) {
        CHECK(try_lock(record));
        const double level = renew(alone(), now + later);
        unlock(record);
        return level;
    }
    double renew_both() {
        CHECK(try_lock(record));
        const double level = renew(viewed(), now);
        unlock(record);
        return level;
    }

    LimitRecord record{};
    ViewRecord view;
    CompiledLimit limit;
    std::int64_t now = kHour;
};

inline constexpr LimitParameters kSmooth{.rate = 10, .low = 100, .high = 200};
inline constexpr LimitParameters kEdge{.rate = 10, .low = 100, .high = 100};
/// A limit whose level may fall below zero: shedding ends two requests below `low`.
inline constexpr LimitParameters kTiny{.rate = 0.1, .low = 1, .high = 1};

}  // namespace weir::limiter::testing
