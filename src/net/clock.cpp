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

Duration unix_ahead() {
    constexpr int kReadings = 5;
    constexpr Duration kTogether = std::chrono::microseconds(20);
    Duration ahead{};
    Duration least = Duration::max();
    for (int i = 0; i < kReadings && least > kTogether; ++i) {
        const Instant before = now();
        const Duration wall = unix_time();
        const Duration between = now() - before;
        if (between < least) {
            least = between;
            ahead = wall - (before.time_since_epoch() + between / 2);
        }
    }
    WEIR_ASSERT(least < Duration::max());
    return ahead;
}

}  // namespace weir::net
