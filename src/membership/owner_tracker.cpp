#include "membership/owner_tracker.h"

#include <utility>

namespace weir::membership {
namespace {

constexpr std::size_t kSmallFleet = 64;
constexpr Duration kOwnersInterval = std::chrono::milliseconds(100);

}  // namespace

void OwnerTracker::start(const Membership& membership) {
    recompute(membership);
    changes_.clear();
}

void OwnerTracker::follow(const Membership& membership, Instant now) {
    if (outdated_ && (membership.live_count() <= kSmallFleet || now >= next_)) {
        outdated_ = false;
        next_ = now + kOwnersInterval;
        recompute(membership);
    }
}

void OwnerTracker::recompute(const Membership& membership) {
    std::vector<OwnerCandidate> candidates{{membership.self(), membership.flags()}};
    for (const Member& member : membership.live()) {
        candidates.push_back({member.id, member.flags});
    }
    for (OwnerChange& change : owners_.recompute(candidates)) {
        WEIR_ASSERT(!change.after.empty());
        changes_.push_back(std::move(change));
    }
}

std::vector<OwnerChange> OwnerTracker::take_changes() { return std::exchange(changes_, {}); }

}  // namespace weir::membership
