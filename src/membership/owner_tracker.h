#pragma once
// Keeps the owners of shards up to date with membership, and collects how they change. Not
// thread-safe. It owns the table of owners.

#include <vector>

#include "membership/membership.h"
#include "membership/owners.h"

namespace weir::membership {

class OwnerTracker {
  public:
    /// Computes the first owners, those of a fleet of one. This does not count as a change.
    void start(const Membership& membership);
    /// Notes that members came, left or changed their flags, so that owners must be computed again.
    void members_changed() { outdated_ = true; }
    /// Computes the owners if they are outdated: at once in a small fleet. In a large one at most
    /// once per interval, because hundreds may come at once.
    void follow(const Membership& membership, Instant now);
    /// Computes the owners at once.
    void recompute(const Membership& membership);

    [[nodiscard]] const Owners& owners() const { return owners_; }
    /// The shards whose owners changed since the last call.
    [[nodiscard]] std::vector<OwnerChange> take_changes();

  private:
    Owners owners_;
    std::vector<OwnerChange> changes_;
    bool outdated_ = false;
    Instant next_{};
};

}  // namespace weir::membership
