#pragma once
// What the limiter reports about itself, for metrics and for people, as plain values.
//
// Thread-safety: that of any value; they are filled on the control thread.
// Ownership: the names and limits that DefinitionStatistics points to belong to the limiter. They
// are valid until the next change of definitions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "limiter/definition.h"
#include "limiter/laws.h"

namespace weir::limiter {

/// What a limit that only counts has in this process: the requests in flight, or the weight that
/// was admitted in the present window. Thread-safe as any value.
struct CountedHere {
    double count = 0;
    double allowance = 0;  // how much it may be
    void add(const CountedHere& other) {
        count += other.count;
        allowance += other.allowance;
    }
};

/// The figures of one definition, over all of its instances. Counters are in the unit of the
/// definition's first limit and only grow while the definition exists.
struct DefinitionStatistics {
    /// The name or template; "__other__" for all definitions without figures of their own.
    std::string_view quota;
    double offered = 0;  // all weight that arrived, whatever other quotas decided about it
    double admitted = 0;
    double refused = 0;            // refused in the name of this quota
    double shadow_refused = 0;     // would have been refused if the quota had been enforced
    double refunded = 0;           // weight that was admitted, but given back since then
    std::uint64_t overflowed = 0;  // requests that used the overflow instance
    std::uint64_t waited = 0;      // requests that were admitted after they had waited
    std::uint32_t live_instances = 0;
    double discard_probability_mean = 0;  // over live instances, weighted by their offered rates
    double discard_probability_max = 0;
    double level_ratio_mean = 0;  // level/low of the fullest limit, weighted by offered rates
    double level_ratio_max = 0;
    /// Of the limits that only count, each at its place among `limits`: the sum over all instances.
    std::array<CountedHere, kMaxLimitsPerQuota> counted{};
    Mode mode = Mode::enforce;
    std::span<const RateLimit> limits;
};

/// How much memory the limiter uses now.
struct Memory {
    std::size_t instances = 0;  // live instances without the overflow instances of templates
    std::size_t records = 0;    // limits of live instances
    /// Memory touched by instances, tables and views; names are counted apart.
    std::size_t bytes = 0;
    std::size_t name_bytes = 0;
    std::size_t views = 0;  // limits that the engine synchronises with the fleet
    std::size_t definitions = 0;
    /// Live instances that still lack a record for one of their limits, or the parent that their
    /// definition names, because an edit found no room for it. Limiter::maintain() gives it to
    /// them when there is room.
    std::size_t awaiting_room = 0;
};

/// Counters that only grow while the limiter lives.
struct LimiterCounters {
    std::uint64_t created = 0;
    std::uint64_t replaced = 0;      // instances that made room for another
    std::uint64_t dropped_idle = 0;  // instances that maintain() dropped
    std::uint64_t searched = 0;      // instances that were looked at to make room
    /// Requests of shedding parents and of their children for which fair shedding had no place.
    std::uint64_t without_fair_place = 0;
    std::uint64_t swept = 0;       // records that maintain() looked at
    std::uint64_t gauged = 0;      // records whose gauges were read for the figures
    std::uint64_t overflowed = 0;  // requests that used an overflow instance
    // Look-ups of new names while another thread held the creation lock. Exact names waited for it;
    // of other names the first request passed its own limits unjudged, and later ones used an
    // overflow instance.
    std::uint64_t contended = 0;
    std::uint64_t active_dropped = 0;  // entries that did not fit into a full active list
    std::uint64_t clamped_weights = 0;
    std::uint64_t bad_views = 0;  // views that were refused because a value was out of range
    /// Records that an edit gave to another limit of their instance. Existing references to such a
    /// record (LimitRef) now mean that other limit.
    std::uint64_t cleared = 0;
};

/// One limit of a live instance as it stands, for the admin API and the dashboard.
struct LimitStatus {
    RateLimit limit;
    LimitParameters parameters;
    /// Of a limit that only counts: what this process has, and what is kept for other members.
    double level = 0;
    CountedHere counted;          // of a limit that only counts
    std::int64_t window_end = 0;  // of a window: the second since 1970; 0 = there is no window now
    Duration window_left{};       // until then
    double offered_rate = 0;      // by this process, per second
    double fleet_offered_rate = 0;  // by the whole fleet; without a view that of this process
    double discard_probability = 0;
    /// Of a quota that sheds fairly: the weight per second that passes of each child, for each unit
    /// of its share, if it is offered more. 0 = none, because it does not shed or is not fair.
    double water_line = 0;
    bool has_view = false;
    bool shedding = false;
    bool isolated = false;  // the members that own the limit cannot be heard
};

}  // namespace weir::limiter
