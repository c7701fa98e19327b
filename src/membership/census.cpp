#include "membership/census.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::membership {

Standing Census::standing(const gossip::MemberId& id) const {
    if (members_.find(id) != nullptr) {
        return Standing::member;
    }
    return dead_.find(id) != nullptr ? Standing::dead : Standing::unknown;
}

std::vector<Endpoint> Census::lost() const {
    std::vector<Endpoint> lost;
    for (const DeadMember& dead : dead_.since(Instant::min())) {
        if (dead.cause == MemberState::dead && !members_.contains(dead.id.address)) {
            lost.push_back(dead.id.address);
        }
    }
    return lost;
}

bool Census::larger_side() const {
    std::vector<Endpoint> given_up = lost();
    std::erase(given_up, self_.address());
    std::sort(given_up.begin(), given_up.end());
    given_up.erase(std::unique(given_up.begin(), given_up.end()), given_up.end());
    const std::size_t here = members_.size() + 1;
    if (here != given_up.size()) {
        return here > given_up.size();
    }
    WEIR_ASSERT(!given_up.empty());
    const Peer* const first = members_.first();
    const Endpoint lowest_here =
        first == nullptr ? self_.address() : std::min(self_.address(), first->member.id.address);
    return lowest_here <= given_up.front();
}

}  // namespace weir::membership
