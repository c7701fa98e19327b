#include "net/clock.h"

#include <ctime>

#include <atomic>

#include "base/assert.h"

namespace weir::net {
namespace {

std::atomic<Duration::rep> moved_forward{0};

}  // namespace

Instant now() {
    timespec time{};
    // It cannot fail: Linux has this clock since 2.6.39.
    (void)clock_gettime(CLOCK_BOOTTIME, &time);
    return Instant(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec) +
                   Duration(moved_forward.load(std::memory_order_relaxed)));
}

void move_forward(Duration by) {
    WEIR_ASSERT(by >= Duration::zero());
    moved_forward.fetch_add(by.count(), std::memory_order_relaxed);
}

Duration unix_time() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace weir::net
