#include "membership/suspicion.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace weir::membership {

Duration least_suspicion(const MembershipSettings& settings, std::size_t members) {
    const double scale =
        std::max(1.0, std::log10(static_cast<double>(std::max<std::size_t>(members, 1))));
    return from_seconds(settings.suspicion_factor * scale * to_seconds(settings.probe_period));
}

Suspicion::Suspicion(const MembershipSettings& settings, std::size_t members,
                     gossip::Incarnation by, Instant now)
    : least_(least_suspicion(settings, members)),
      longest_(from_seconds(to_seconds(least_) * settings.suspicion_spread)),
      // Neither the suspect nor the member that suspected first can confirm.
      wanted_(std::min<std::size_t>(settings.confirmations, members > 2 ? members - 2 : 0)),
      by_{by},
      began_(now) {}

bool Suspicion::confirm(gossip::Incarnation by) {
    if (by_.size() > wanted_ || std::find(by_.begin(), by_.end(), by) != by_.end()) {
        return false;
    }
    by_.push_back(by);
    WEIR_ASSERT(by_.size() <= wanted_ + 1);  // the first who suspects does not confirm
    return true;
}

Instant Suspicion::deadline() const {
    if (wanted_ == 0 || told_dead_) {
        return began_ + least_;
    }
    const auto confirmations = static_cast<double>(by_.size() - 1);
    const double share = std::log(confirmations + 1) / std::log(static_cast<double>(wanted_) + 1);
    WEIR_ASSERT(share >= 0 && share <= 1);
    const double span = to_seconds(longest_) - share * to_seconds(longest_ - least_);
    return began_ + std::max(least_, from_seconds(span));
}

}  // namespace weir::membership
