#include "net/clock.h"

namespace weir::net {

Instant now() {
    return Instant(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

Duration unix_time() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace weir::net
