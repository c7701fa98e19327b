#include "upkeep.h"

#include <cstdio>

#include "measure.h"
#include "ours.h"

void print_upkeep(std::size_t instances) {
    // The interval of member::Member.
    constexpr double kInterval = 0.1;
    constexpr int kCalls = 2000;
    Ours ours({instances, kLongPrefix, 0});
    weir::limiter::Limiter& limiter = ours.limiter();
    // Not long enough to make anything idle: nothing is dropped, all stay.
    weir::Instant now = instant(2);
    double time = 0;
    for (int call = 0; call < kCalls; ++call) {
        timed(time, [&] {
            limiter.maintain(now);
            return std::size_t{1};
        });
    }
    std::printf(
        "upkeep of %zu live instances: %.1f us a call, %.3f %% of a core at %.0f calls a "
        "second\n",
        limiter.memory().instances, time / kCalls * 1e-3, time / kCalls * 1e-9 / kInterval * 100,
        1 / kInterval);
}
