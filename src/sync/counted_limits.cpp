#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "sync/counter_exchange.h"

// The part of CounterExchange for limits that only count, those of requests in flight and of
// windows, for the clock by which windows begin and end, and for what a snapshot knows.

namespace weir::sync {
namespace {

/// A member that has seeds expects for so long after its start to hear others.
constexpr Duration kExpectOthers = std::chrono::seconds(2);
/// A member that hears others waits at most for so long until it hears their clocks.
constexpr Duration kHearClocks = std::chrono::milliseconds(500);
/// Limits of which counts may be missing are counted so often: all have to be looked at.
constexpr Duration kCountUncertainEvery = std::chrono::seconds(5);
/// So many members at most are told this machine's clock at a time.
constexpr std::size_t kTellClockTo = 16;

}  // namespace

/// An anchor admits nothing, so it has no part of any limit. All members have to judge this alike,
/// or their equal parts would be more than the whole.
bool CounterExchange::serves(membership::MemberFlags flags) const {
    return !flags.anchor || settings_.anchors_serve;
}

/// A member that is not known, or not any more, is taken for one that serves: then too much is kept
/// for it rather than too little.
bool CounterExchange::serves(const gossip::MemberId& member) const {
    const membership::Member* const known = transport_.membership().find(member);
    return known == nullptr || serves(known->flags);
}

/// How many live members have a part of each limit, this one included if it serves. Never 0: beside
/// an anchor that knows of nobody, nobody uses the limit.
std::uint32_t CounterExchange::serving_members() const {
    const membership::Membership& members = transport_.membership();
    const std::size_t idle = settings_.anchors_serve ? 0 : members.live_anchors();
    WEIR_ASSERT(idle <= members.live_count());
    const std::size_t serving = members.live_count() - idle + (serves(members.flags()) ? 1U : 0U);
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, serving));
}

/// Limits that only count. Members that were given up and whose share is held count as members.
void CounterExchange::share_counted() {
    const auto held = static_cast<std::uint32_t>(silence_.count_held(now_));
    const std::uint32_t members = serving_members() + held;
    share_in_flight(members, held);
    share_windows(members, transport_.membership().live_count() + held > 0);
}

/// Limits of windows. Until this member has heard another one it may use little of a window, as
/// long as that can be expected: others may have used the window already. `others`: there are
/// other members, of which the owners may know that a window is used up. Then also the only member
/// that serves takes no more than a part before it has asked.
void CounterExchange::share_windows(std::uint32_t members, bool others) {
    const std::int64_t second = limiter_.wall_second(now_);
    if (others && !others_since_) {
        others_since_ = now_;
    }
    if (waits_for_others()) {
        limiter_.share_windows(2, std::numeric_limits<std::int64_t>::max());
        return;
    }
    // In seconds of the clock as it is now, which may have been set since.
    const auto for_so_long =
        std::chrono::floor<std::chrono::seconds>(now_ - others_since_.value_or(now_));
    limiter_.share_windows(others ? std::max(2U, members) : members,
                           second - for_so_long.count() + 1);
    const bool moved = std::exchange(owners_moved_, false);
    window_owner_.tick(now_, second, {members, others}, self_, transport_.owners(), *this, moved);
    watch_owners(second);
    if (kept_counts_.waiting() > 0) {
        window_owner_.learn_on(now_);
        if (second > 0 && clock_is_known()) {
            kept_counts_.restore(now_);
        }
    }
    window_origin_.tick(now_, second, transport_.owners(), *this, moved);
}

/// Counts the shards whose owners were all lost at once, and the limits that this concerns.
void CounterExchange::watch_owners(std::int64_t second) {
    const std::size_t lost = lost_owners_.tick(
        now_, second, transport_.owners(), [this](const gossip::MemberId& member) {
            return member.address == self_.address ||
                   transport_.membership().find(member) != nullptr;
        });
    counters_.owners_lost += lost;
    if (!lost_owners_.any()) {
        uncertain_windows_ = 0;
    } else if (lost > 0 || now_ - uncertain_counted_ >= kCountUncertainEvery) {
        uncertain_counted_ = now_;
        uncertain_windows_ = window_owner_.uncertain(lost_owners_);
    }
}

/// Whether this member has heard nobody yet, and others are to be expected.
bool CounterExchange::waits_for_others() const {
    WEIR_ASSERT(started_.has_value());
    return !others_since_ && (has_seeds_ || settings_.expects_others) &&
           now_ - *started_ < kExpectOthers;
}

/// Levels of a snapshot. The other owners of a limit hand over what they know as soon as they are
/// heard; then what was read adds nothing that they have counted.
void CounterExchange::restore_levels() {
    if (kept_levels_.waiting() > 0) {
        const bool told = !others_since_ || now_ - *others_since_ >= settings_.refill_time;
        kept_levels_.restore(now_, transport_.owners(), self_, told && !waits_for_others(), *this);
    }
}

/// Whether windows can be told from those that have ended: by the clocks of others, if there are
/// any. Counts of a snapshot come before this member grants anything to others it has just heard.
bool CounterExchange::clock_is_known() const {
    static_assert(kHearClocks < WindowOwner::kLearn);
    return !others_since_ || clock_.hears_others() || now_ - *others_since_ >= kHearClocks;
}

/// Limits of requests in flight.
void CounterExchange::share_in_flight(std::uint32_t members, std::uint32_t held) {
    limiter_.set_members(members);
    allowance_owner_.tick(now_, members, held, self_, transport_.owners(), *this);
    allowance_origin_.tick(now_, members, transport_.owners(), *this);
}

/// Windows and leases of limits that only count end at exact times, so where there are any, each
/// tick may have something to end.
bool CounterExchange::is_at_work() const {
    const bool counts = allowance_origin_.size() + allowance_owner_.size() > 0 ||
                        window_origin_.size() + window_owner_.size() > 0;
    return counts || reporter_.awake() > 0 || reporter_.touched_at() == now_ ||
           owner_.awake() > 0 || quiet_answers_.size() > 0 || delta_answers_.size() > 0 ||
           kept_levels_.waiting() > 0;
}

/// The members that can be asked for their parts.
std::vector<gossip::MemberId> CounterExchange::live_serving() const {
    std::vector<gossip::MemberId> ids;
    if (serves(transport_.membership().flags())) {
        ids.push_back(self_);
    }
    for (const membership::Member& member : transport_.membership().live()) {
        if (serves(member.flags)) {
            ids.push_back(member.id);
        }
    }
    return ids;
}

/// Tells some of the other members this machine's clock, now and then, and follows the fleet's.
void CounterExchange::follow_clock() {
    if (!clock_.has_own()) {
        return;
    }
    if (clock_told_ && now_ - *clock_told_ < FleetClock::kTellEvery) {
        return;
    }
    clock_told_ = now_;
    const auto& live = transport_.membership().live();
    if (clock_hand_ == 0) {  // not all tell the same ones at the same time
        clock_hand_ = static_cast<std::size_t>(self_.incarnation % 65'521);
    }
    for (std::size_t i = 0; i < std::min(live.size(), kTellClockTo); ++i) {
        tell_clock(live[(clock_hand_ + i) % live.size()].id);
    }
    clock_hand_ += kTellClockTo;
}

/// Of many members that join at once some are told now. The others hear of it as all do.
void CounterExchange::greet_with_clock(const gossip::MemberId& joined) {
    if (now_ - greeting_since_ >= std::chrono::seconds(1)) {
        greeting_since_ = now_;
        greeted_ = 0;
    }
    if (greeted_ < kTellClockTo) {
        ++greeted_;
        tell_clock(joined);
    }
    WEIR_ASSERT(greeted_ <= kTellClockTo);
}

void CounterExchange::tell_clock(const gossip::MemberId& to) {
    if (!clock_.has_own()) {
        return;
    }
    std::array<std::byte, 16> buffer;
    ByteWriter writer(buffer);
    clock_.encode(writer, now_);
    WEIR_ASSERT(writer.ok());
    if (!transport_.send(to, gossip::MessageType::clock, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_report(const gossip::MemberId& to, const AllowanceReport& report) {
    if (to == self_) {
        allowance_owner_.receive(self_, self_number_, report, now_, *this);
    } else {
        send_entry(to, gossip::MessageType::allowance_report, report);
    }
}

void CounterExchange::send_grant(const gossip::MemberId& to, const AllowanceGrant& grant) {
    if (to == self_) {
        allowance_origin_.receive(grant, now_);
    } else {
        send_entry(to, gossip::MessageType::allowance_grant, grant);
    }
}

bool CounterExchange::has_room_for_windows(bool urgent) { return has_budget(urgent); }

void CounterExchange::send_window_report(const gossip::MemberId& to, const WindowReport& report) {
    if (to == self_) {
        window_owner_.receive(self_, self_number_, report, now_, *this);
    } else {
        send_entry(to, gossip::MessageType::window_report, report);
    }
}

void CounterExchange::send_window_grant(const gossip::MemberId& to, const WindowGrant& grant) {
    if (to == self_) {
        window_origin_.receive(self_, grant, now_);
    } else {
        send_entry(to, gossip::MessageType::window_grant, grant);
    }
}

}  // namespace weir::sync
