#include "gossip/budget.h"

#include <algorithm>

namespace weir::gossip {

bool Budget::take(std::size_t bytes, Instant now, double reserve) {
    if (now > last_) {
        left_ =
            std::min(settings_.burst, left_ + to_seconds(now - last_) * settings_.bytes_per_second);
        last_ = now;
    }
    if (left_ < static_cast<double>(bytes) + reserve) {
        return false;
    }
    left_ -= static_cast<double>(bytes);
    return true;
}

}  // namespace weir::gossip
