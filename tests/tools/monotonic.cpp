#include "tools/monotonic.h"

#include <ctime>

namespace weir::tools {

std::int64_t monotonic_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace weir::tools
