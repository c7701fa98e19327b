// Weighs on which side of a split this member is. One that hears nobody, although somebody who did
// not say goodbye is missing, is cut off. One that hears others is on the larger side if it hears
// more than half of two groups: of the members that were there before the first of the missing ones
// was lost, and of all that it knows now, this one included in both. Not counted are members
// whose hosts confirmed their death, or that were replaced; and those that were given up longer ago
// than SyncSettings::census_memory, unless shares are still held. Members that said goodbye are not
// counted either, unless they did so after the last of the missing ones was lost: they were on this
// side of the split, and nobody on another side has heard of it, so they count as heard. Else a
// rolling restart would make the larger side a smaller one.
//
// A side that looks like the larger one is it for certain (Side::confirmed) when more than half of
// all have also been heard since the last loss was noticed.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sync/silence.h"

namespace weir::sync {
namespace {

/// The side is weighed so often at most; when somebody falls silent, at once.
constexpr Duration kWeighEvery = std::chrono::milliseconds(100);
/// Of more members than these it is found out more slowly who has been heard since the last loss.
constexpr std::size_t kFewMembers = 64;
constexpr Duration kConfirmEvery = std::chrono::seconds(1);
/// So long membership may take to give up all members of a thousand that fall silent.
constexpr Duration kGivenUpWithin = std::chrono::seconds(20);

}  // namespace

void Silence::set_live_others(std::size_t count, std::optional<Instant> last_heard, Instant now) {
    const bool heard = anybody_heard(now);
    outdated_ = outdated_ || count != live_others_;
    live_others_ = count;
    last_heard_ = last_heard;
    outdated_ = outdated_ || heard != anybody_heard(now);
    // What only the time changes: how long ago somebody was given up or was heard.
    const bool missed = !side_.majority || side_.alone || !silent_.empty();
    const bool few = numbers_.size() <= kFewMembers;
    const Duration every = outdated_ || missed || few ? kWeighEvery : kConfirmEvery;
    if ((outdated_ || missed || !side_.confirmed) && now - weighed_ >= every) {
        weigh(now);
    }
}

void Silence::set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now) {
    seeds_ = std::move(seeds);
    if (looked_up) {
        looked_up_ = now;
    }
    weigh_soon();
}

/// A side that was too small stays so for a moment when it hears others again, and so does one that
/// was alone: when a split heals, not all are heard in one instant.
void Silence::weigh(Instant now) {
    outdated_ = false;
    weighed_ = now;
    const bool cut_off = is_cut_off(now);
    if (cut_off) {
        alone_at_ = now;
        hold_last(now);
    }
    const Hears hears = cut_off ? Hears::few : weigh_voices(now);
    if (hears == Hears::few) {
        minority_at_ = now;
    }
    const Duration moment = silent_after(settings_.keep_alive);
    side_.majority = !minority_at_ || now - *minority_at_ > moment;
    side_.confirmed = side_.majority && hears == Hears::most_since;
    // One that has just been started hears nobody either, but misses nobody.
    const bool alone = !side_.majority && alone_at_ && now - *alone_at_ <= moment;
    if (alone && !side_.alone) {
        alone_since_ = now;
    }
    side_.alone = alone;
    WEIR_ASSERT(!(side_.alone && side_.majority));
    WEIR_ASSERT(!side_.confirmed || side_.majority);
    side_.seeds = side_.alone ? ask_seeds(now) : SeedsSay::nothing;
}

/// Whether nobody is heard any more, and somebody who was heard after the last goodbye is missing.
bool Silence::is_cut_off(Instant now) const {
    if (anybody_heard(now)) {
        return false;
    }
    Instant goodbye = Instant::min();
    Instant heard = Instant::min();
    for (const auto& [id, number] : numbers_) {
        const Known& member = members_[number];
        const bool missing = is_lost(member) || member.unreachable;
        if (missing && is_counted(member, Instant::min())) {
            heard = std::max(heard, member.last_packet);
        } else if (member.gone && !member.succeeded && id.address != self_) {
            goodbye = std::max(goodbye, member.gone_at);
        }
    }
    return heard > goodbye;
}

/// When the last one falls silent or is given up, we may be the ones who are cut off, also from
/// those that had been taken for dead one by one.
void Silence::hold_last(Instant now) {
    for (const MemberNumber number : silent_) {
        Known& member = members_[number];
        if (!member.gone && !member.succeeded && now - member.last_packet < kGivenUpWithin) {
            hold(member, now);
        }
    }
}

/// `remembered`: who was given up before this instant is counted no more.
bool Silence::is_counted(const Known& member, Instant remembered) const {
    if (member.gone || member.succeeded || member.id.address == self_) {
        return false;
    }
    return !member.dead || member.died_at >= remembered;
}

/// Not heard, whether owner or membership found it out.
bool Silence::is_lost(const Known& member) {
    return member.silent || member.dead ||
           (member.suspected_at && member.last_packet < *member.suspected_at);
}

Instant Silence::lost_at(const Known& member) {
    if (member.silent || !is_lost(member)) {
        return member.last_packet;
    }
    return member.suspected_at ? *member.suspected_at : member.died_at;
}

/// By when the member would have been heard again, if it could be.
Instant Silence::missed_at(const Known& member) {
    return member.silent ? member.last_packet + member.keep_alive : lost_at(member);
}

Silence::Losses Silence::losses(Instant remembered) const {
    Losses losses;
    for (const auto& [id, number] : numbers_) {
        const Known& member = members_[number];
        if (!is_counted(member, remembered)) {
            continue;
        }
        losses.any = losses.any || is_lost(member) || member.unreachable;
        if (is_lost(member) && !member.unreachable) {
            losses.first = std::min(losses.first, lost_at(member));
            losses.last = std::max(losses.last, missed_at(member));
        }
    }
    WEIR_ASSERT(losses.any || losses.first == Instant::max());
    return losses;
}

void Silence::note_held_rate(Instant since, Instant now) {
    const bool goes_on = now - rate_held_at_ < kHeldLately;
    rate_held_since_ = goes_on ? std::min(rate_held_since_, since) : since;
    rate_held_at_ = now;
    WEIR_ASSERT(rate_held_since_ <= since);
}

/// Who was given up before this instant is counted no more.
Instant Silence::remembered(Instant now) const {
    Instant since = now - settings_.census_memory;
    if (now - rate_held_at_ < kHeldLately) {
        since = std::min(since, rate_held_since_ - settings_.census_memory);
    }
    for (const MemberNumber number : silent_) {
        const Known& member = members_[number];
        const bool held = member.split && now - member.held_at < kHeldLately;
        if (held && is_counted(member, Instant::min())) {
            since = std::min(since, member.last_packet - settings_.census_memory);
        }
    }
    return since;
}

/// For a member that is not cut off. Two sides may remember different losses, so those that were
/// there before the first one do not suffice: it has to be more than half of all that are known now
/// as well.
Silence::Hears Silence::weigh_voices(Instant now) const {
    const Instant since = remembered(now);
    const Losses lost = losses(since);
    if (!lost.any) {
        return Hears::most_since;
    }
    Voices before;
    Voices all;
    Voices since_loss;
    for (const auto& [id, number] : numbers_) {
        const Known& member = members_[number];
        const bool left =
            member.gone && !member.succeeded && id.address != self_ && member.gone_at > lost.last;
        const bool counted = left || (is_counted(member, since) && !member.unreachable);
        if (!counted) {
            continue;
        }
        all.count(left || !is_lost(member));
        since_loss.count(left || (!is_lost(member) && member.last_packet > lost.last));
        if (member.joined <= lost.first) {
            before.count(left || !is_lost(member));
        }
    }
    WEIR_ASSERT(before.there <= all.there && before.heard <= all.heard);
    WEIR_ASSERT(since_loss.heard <= all.heard);
    if (!before.most() || !all.most()) {
        return Hears::few;
    }
    return since_loss.most() ? Hears::most_since : Hears::most;
}

/// That the seeds name only us counts when names were looked up after the last of the others was
/// heard: addresses that are written in the settings prove nothing, and neither does an old answer.
SeedsSay Silence::ask_seeds(Instant now) const {
    bool others = false;
    for (const Endpoint& seed : seeds_) {
        if (seed == self_) {
            continue;
        }
        others = true;
        if (lived_lately(seed, now)) {
            return SeedsSay::others;
        }
    }
    if (others || seeds_.empty() || !looked_up_) {
        return SeedsSay::nothing;
    }
    const bool since = std::all_of(numbers_.begin(), numbers_.end(), [this](const auto& each) {
        const Known& member = members_[each.second];
        return !is_counted(member, Instant::min()) || lost_at(member) < *looked_up_;
    });
    return since ? SeedsSay::only_us : SeedsSay::nothing;
}

bool Silence::lived_lately(const Endpoint& address, Instant now) const {
    for (auto each = numbers_.lower_bound({address, 0});
         each != numbers_.end() && each->first.address == address; ++each) {
        const Known& member = members_[each->second];
        if (!member.gone && (!is_lost(member) || now - lost_at(member) <= settings_.seeds_memory)) {
            return true;
        }
    }
    return false;
}

}  // namespace weir::sync
