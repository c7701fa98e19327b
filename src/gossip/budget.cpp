#include "gossip/budget.h"

#include <algorithm>

namespace weir::gossip {

double Budget::left(Instant now) const {
    if (now <= last_) {
        return left_;
    }
    return std::min(settings_.burst, left_ + to_seconds(now - last_) * settings_.bytes_per_second);
}

bool Budget::take(std::size_t bytes, Instant now, double reserve) {
    left_ = left(now);
    last_ = std::max(last_, now);
    if (left_ < static_cast<double>(bytes) + reserve) {
        return false;
    }
    left_ -= static_cast<double>(bytes);
    return true;
}

}  // namespace weir::gossip
