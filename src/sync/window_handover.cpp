#include <algorithm>

#include "sync/window_owner.h"

// How an owner of a limit of windows tells the other owners what members that are gone had
// admitted.

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// What other owners have not noted is told again after so long, each next time after twice the
/// time.
constexpr Duration kHandAgain = 300ms;
constexpr std::uint32_t kHandDoublings = 5;

}  // namespace

void WindowOwner::noted(const gossip::MemberId& from, const WindowGrant& grant) {
    const auto known = limits_.find(grant.key);
    if (!known) {
        return;
    }
    Limit& limit = limits_[*known];
    if (limit.gone.note(grant.run, grant.number, owner_bits(grant.key, from)) &&
        limit.gone.untold() > 0) {
        limit.handed_times = 1;  // they listen: the rest need not wait for long
        due_.add(*known, hand_again(limit));
    }
}

/// The bit of this member among the owners of the limit; none if it is not among them.
GoneRuns::OwnerBits WindowOwner::owner_bits(const LimitKey& key,
                                            const gossip::MemberId& member) const {
    const membership::OwnerList& list = owners_[membership::shard_of(key.quota)];
    const auto place = std::find(list.begin(), list.end(), member) - list.begin();
    return place == static_cast<std::ptrdiff_t>(list.size())
               ? GoneRuns::OwnerBits{0}
               : static_cast<GoneRuns::OwnerBits>(1U << static_cast<unsigned>(place));
}

/// When counts that were not noted are told again, or what found no room is tried again.
Instant WindowOwner::hand_again(const Limit& limit) const {
    const membership::Shard shard = membership::shard_of(limit.key.quota);
    if (limit.handed_times == 0 || limit.owners_version != owners_version_[shard]) {
        return Instant{};
    }
    return limit.handed +
           kHandAgain * (std::int64_t{1} << std::min(limit.handed_times, kHandDoublings));
}

/// Tells the other owners what members that are gone had admitted.
void WindowOwner::hand_over(Limit& limit, Instant now, WindowSink& sink) {
    const membership::Shard shard = membership::shard_of(limit.key.quota);
    const membership::OwnerList& list = owners_[shard];
    if (limit.owners_version != owners_version_[shard]) {
        limit.owners_version = owners_version_[shard];
        limit.handed_times = 0;
        const auto all = static_cast<GoneRuns::OwnerBits>((1U << list.size()) - 1);
        limit.gone.tell_all(static_cast<GoneRuns::OwnerBits>(all & ~owner_bits(limit.key, self_)));
    }
    if (limit.gone.untold() == 0 || now < hand_again(limit)) {
        return;
    }
    limit.gone.for_each_untold([&](const GoneRuns::GoneRun& count, GoneRuns::OwnerBits owners) {
        const bool room = sink.has_room_for_windows(false);
        for (std::size_t i = 0; room && i < list.size(); ++i) {
            if ((owners >> i & 1U) != 0) {
                sink.send_window_report(list[i], report_of(limit, count));
            }
        }
        return room;
    });
    limit.handed = now;
    ++limit.handed_times;
}

}  // namespace weir::sync
