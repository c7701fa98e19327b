#pragma once
// The state that a limit has only while the engine synchronises it with the fleet: counts that only
// grow, and the view of the fleet, dead-reckoned between messages.
//
// Thread-safety: any thread reads it. A thread writes it while it holds the lock bit of the limit's
// record; the fields marked "any thread" are also written without it.
// Ownership: the InstanceStore owns all of them and uses them again.
// Invariant: view_in_force implies installed.

#include <atomic>
#include <cstdint>

namespace weir::limiter {

struct alignas(64) ViewRecord {
    // The straight line in force (record.h), which check() reads.
    std::atomic<double> slope{0};
    std::atomic<double> bend{0};                // the level at which the line stops if it rises
    std::atomic<double> offered_rate{0};        // by the whole fleet, for the law, while installed
    std::atomic<double> tau{0};                 // time constant of the law, seconds
    std::atomic<std::int64_t> last_offered{0};  // any thread: newest arrival, nanoseconds
    std::atomic<float> last_weight{0};          // any thread: weight of the newest arrival
    std::atomic<bool> installed{false};         // the engine has installed a view
    std::atomic<bool> view_in_force{false};     // false: the local level is the larger one
    std::atomic<bool> owner_sheds{false};       // the owner says that a hard edge sheds

    // Brought up to date by each renewal.
    std::atomic<double> admitted{0};
    std::atomic<double> offered{0};
    std::atomic<double> refunded{0};          // any thread
    std::atomic<double> refunded_settled{0};  // the part of `refunded` that is taken off the levels
    std::atomic<double> open_time{0};
    std::atomic<double> view_level{0};
    std::atomic<double> local_level{0};
    std::atomic<double> others_rate{0};
    std::atomic<std::uint32_t> record{0};  // the limit's record; 0 = this view is free
};
static_assert(sizeof(ViewRecord) <= 128);

}  // namespace weir::limiter
