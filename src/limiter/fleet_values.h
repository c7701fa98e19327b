#pragma once
// The values that pass between the limiter and the engine, which synchronises limits over the
// fleet. Plain values, as thread-safe as any. Only limits of Scope::fleet appear here.

#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "limiter/definition.h"
#include "limiter/laws.h"
#include "limiter/water_line.h"

namespace weir::limiter {

/// A reference to one limit of one live instance. It becomes stale when the instance is dropped or
/// an edit takes the limit away. Calls with a stale reference return nothing or false.
struct LimitRef {
    std::uint32_t instance = 0;
    std::uint32_t record = 0;
    std::uint32_t generation = 0;
    friend auto operator<=>(const LimitRef&, const LimitRef&) = default;
};

/// The part of a limit that a member which has just joined may use of a window, until it is told
/// its allowance: others may have shared the whole limit among themselves.
inline constexpr double kPartOfNewMembers = 0.01;

/// What this process did with a limit, in its unit. Counts that only grow begin at 0 when the
/// engine first sees the limit, and again when it sees the limit after a call of
/// Limiter::release(). For the owners of the limit the counts then begin a new run.
struct LocalCounts {
    double admitted = 0;      // only grows
    double refunded = 0;      // only grows
    double offered = 0;       // weight that the other limits of the chain let through; only grows
    double offered_rate = 0;  // per second, without the newest arrival if it is younger than 50 ms
    double open_time = 0;     // the integral of (1 - p) dt, in seconds
    double level = 0;         // the level that decisions use: the larger of the next two
    double local_level = 0;   // of own admissions only, draining at the full rate
    double view_level = 0;    // of the installed view, dead-reckoned to now; -1 without a view
    double heaviest = 0;      // W, the heaviest admitted weight that has not drained yet
    double typical = 1;       // the running mean of admitted weights
    double discard_probability = 0;  // the chance that a typical request is refused
    bool shedding = false;           // whether a hard edge sheds (next_shedding in laws.h)
    Instant last_offered{};          // when the newest request arrived
};

/// What this process did with a limit that has no view, since the last such reading.
struct UnviewedCounts {
    double admitted = 0;      // less what was refunded, so it can be negative
    double offered_rate = 0;  // per second
    double level = 0;         // of own admissions only, draining at the full rate
    double typical = 1;       // the running mean of admitted weights
};

/// What the fleet is believed to be doing with a limit, as the engine learnt it from totals. After
/// install(), check() advances the level: each second it grows by others_rate*(1 - p) - rate, and
/// by the weight that this process admits.
struct FleetView {
    double level = 0;  // at the install; it includes everything that this process admitted ...
    double admitted_at = 0;   // ... up to this value of LocalCounts::admitted - refunded
    double offered_rate = 0;  // by the whole fleet, per second
    double others_rate = 0;   // offered_rate without what the owner attributes to this process
    double heaviest = 0;      // W of the whole fleet
    bool shedding = false;    // whether the owner says that a hard edge sheds
    /// The largest seen; the time constant of the law is at least four times this.
    Duration round_trip{};
};

/// The requests in flight in this process under a limit that the fleet shares.
struct InFlightCounts {
    double most = 0;       // in flight in the whole fleet
    double allowance = 0;  // of them in this process
    double in_flight = 0;
    double no_room = 0;  // requests that found no room, since the last such reading
};

/// What this process admitted in the present window of a limit that the fleet shares.
struct WindowCounts {
    double most = 0;       // the weight that the whole fleet may admit in the window
    double allowance = 0;  // how much of it this process may
    std::int64_t end = 0;  // the second since 1970 in which the window ends; 0 = there is none now
    double admitted = 0;
    double lacking = 0;  // weight that found no room, since the last such reading
    double typical = 1;  // the running mean of admitted weights
};

/// The number by which a limit is known in the fleet; not 0. Limits of different kinds have
/// functions of their own.
using LimitNaming = std::uint64_t (*)(std::string_view quota, Unit unit, Duration period);

/// The level that a rate had at a time, as somebody else knows it.
struct ToldLevel {
    double level = 0;
    double rate = 0;  // at which it drains, in a second
    Instant at{};
};

/// How much this process may admit in a window.
struct WindowAllowance {
    std::int64_t end = 0;  // the second in which the window ends, by which it is known
    double allowance = 0;
    /// It is known that this process admitted so much of it. The record of a limit that was made
    /// anew takes that over.
    double admitted = 0;
};

/// What this process was offered for the children of a parent that sheds fairly.
struct SheddingParent {
    LimitRef limit;
    bool fleet = true;  // all sidecars share the limit
    ChildRates rates;   // children are known by the hashes of their names
};

/// What a limit is called on the wire, and its parameters now.
struct LimitIdentity {
    std::string_view quota;  // the instance's name; valid until the next maintain() or change()
    Unit unit = Unit::requests;
    Duration period{};
    LimitParameters parameters;
    Isolation isolation;
    bool safe_capacity = false;  // IsolationMode::safe, and the limit has a RateLimit::safe
};

}  // namespace weir::limiter
