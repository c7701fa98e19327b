#pragma once
// What a limit carries while the engine synchronises it with the fleet: counts that only grow, and
// the view of the fleet as it is reckoned between messages. Only limits in use have a ViewRecord.
//
// Thread-safety: read by any thread. Written under the lock bit of the limit's record, apart from
// the fields that say "any thread".
// Ownership: the InstanceStore owns all of them and uses them again.
// Invariant: view_in_force implies installed.

#include <atomic>
#include <cstdint>

namespace weir::limiter {

struct alignas(64) ViewRecord {
    // The line in force: what check() reads.
    std::atomic<double> slope{0};
    std::atomic<double> offered_rate{0};  // lambda of the law, when installed
    std::atomic<double> tau{0};
    std::atomic<std::int64_t> last_offered{0};  // any thread: newest arrival, nanoseconds
    std::atomic<float> last_weight{0};          // any thread
    std::atomic<bool> installed{false};
    std::atomic<bool> view_in_force{false};  // else the local level is the larger one

    // Moved on by each renewal.
    std::atomic<double> admitted{0};
    std::atomic<double> offered{0};
    std::atomic<double> refunded{0};  // any thread
    std::atomic<double> refunded_settled{0};
    std::atomic<double> open_time{0};
    std::atomic<double> view_level{0};
    std::atomic<double> local_level{0};
    std::atomic<double> others_rate{0};
    std::atomic<std::uint32_t> record{0};  // whose it is; 0 = free
};
static_assert(sizeof(ViewRecord) <= 128);

}  // namespace weir::limiter
