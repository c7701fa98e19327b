#pragma once
// Values between the limiter and the engine that synchronises limits over the fleet. Plain values.
// Only limits of Scope::fleet appear here.

#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "limiter/definition.h"
#include "limiter/laws.h"

namespace weir::limiter {

/// One limit of one live instance. Becomes stale (calls return nothing or false) when the
/// instance is dropped or the limit is edited away.
struct LimitRef {
    std::uint32_t instance = 0;
    std::uint32_t record = 0;
    std::uint32_t generation = 0;
    friend auto operator<=>(const LimitRef&, const LimitRef&) = default;
};

/// What this sidecar did with a limit. Cumulative counts begin at 0 when the limit is first seen
/// by the engine or seen again after release(): a new run of the cell.
struct LocalCounts {
    double admitted = 0;      // only grows
    double refunded = 0;      // only grows
    double offered = 0;       // what the other levels of the chain let through; only grows
    double offered_rate = 0;  // per second, without the newest arrival if younger than 50 ms
    double open_time = 0;     // G = integral of (1 - p) dt, seconds
    double level = 0;         // believed: the larger of view and local
    double local_level = 0;   // own admissions only, draining at the full rate
    double view_level = 0;    // the installed view as dead-reckoned; -1 without one
    double heaviest = 0;      // W
    double typical = 1;
    double discard_probability = 0;  // for a typical request
    bool shedding = false;           // state of a hard edge
    Instant last_offered{};          // newest arrival
};

/// What the fleet is believed to be doing with a limit, as the engine took it from totals.
/// Between installs check() reckons: level += (others_rate*(1 - p) - rate)*dt, + own admissions.
struct FleetView {
    double level = 0;         // at the time of the install, everything of ours included up to ...
    double admitted_at = 0;   // ... this value of LocalCounts.admitted - refunded
    double offered_rate = 0;  // lambda, the whole fleet's
    double others_rate = 0;   // lambda less what the owner knows of us
    double heaviest = 0;      // W of the fleet
    bool shedding = false;    // state of a hard edge, as the owner says
    Duration round_trip{};    // largest seen; the law's time constant is at least four of it
    // A fair rate for children of a shedding parent will go here (design 4, fair shedding).
};

/// What a limit is called on the wire, and its parameters now.
struct LimitIdentity {
    std::string_view quota;  // the instance's name; valid until the next call of maintain/apply
    Unit unit = Unit::requests;
    Duration period{};
    LimitParameters parameters;
    IsolationMode when_isolated = IsolationMode::safe;
    bool safe_capacity = false;  // IsolationMode::safe with a rate of its own
};

}  // namespace weir::limiter
