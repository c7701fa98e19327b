#include "membership/dead_table.h"

#include <iterator>
#include <limits>

#include "base/assert.h"

namespace weir::membership {

bool DeadTable::add(const DeadMember& member) {
    WEIR_ASSERT(is_gone(member.cause));
    if (by_id_.contains(member.id)) {
        return false;
    }
    make_room(member.id.address);
    by_id_.emplace(member.id, member);
    by_age_.push_back(member.id);
    WEIR_ASSERT(by_id_.size() <= kCapacity);
    WEIR_ASSERT(by_age_.size() == by_id_.size());
    return true;
}

const DeadMember* DeadTable::find(const gossip::MemberId& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
}

void DeadTable::make_room(const Endpoint& address) {
    const auto begin = by_id_.lower_bound({address, 0});
    auto end = by_id_.upper_bound({address, std::numeric_limits<gossip::Incarnation>::max()});
    const auto there = static_cast<std::size_t>(std::distance(begin, end));
    WEIR_ASSERT(there <= kPerAddress);
    if (there == kPerAddress) {
        auto oldest = begin;
        for (auto it = begin; it != end; ++it) {
            oldest = it->second.since < oldest->second.since ? it : oldest;
        }
        std::erase(by_age_, oldest->first);
        by_id_.erase(oldest);
    }
    if (by_id_.size() >= kCapacity) {
        by_id_.erase(by_age_.front());
        by_age_.pop_front();
    }
}

void DeadTable::forget_old(Instant now) {
    while (!by_age_.empty()) {
        const auto found = by_id_.find(by_age_.front());
        WEIR_ASSERT(found != by_id_.end());
        if (now - found->second.since < kMemory) {
            return;
        }
        by_id_.erase(found);
        by_age_.pop_front();
    }
}

void DeadTable::forget_silent() {
    std::erase_if(by_age_, [this](const gossip::MemberId& id) {
        const auto found = by_id_.find(id);
        WEIR_ASSERT(found != by_id_.end());
        const bool silent = found->second.cause == MemberState::dead;
        if (silent) {
            by_id_.erase(found);
        }
        return silent;
    });
    WEIR_ASSERT(by_age_.size() == by_id_.size());
}

std::vector<DeadMember> DeadTable::since(Instant from) const {
    std::vector<DeadMember> result;
    for (auto it = by_age_.rbegin(); it != by_age_.rend(); ++it) {
        const auto found = by_id_.find(*it);
        WEIR_ASSERT(found != by_id_.end());
        if (found->second.since < from) {
            break;
        }
        result.push_back(found->second);
    }
    return result;
}

}  // namespace weir::membership
