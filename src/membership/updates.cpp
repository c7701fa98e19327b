#include "membership/updates.h"

#include <algorithm>

namespace weir::membership {
namespace {

/// A counter that exceeds the known one by more than this cannot come from refutations and is
/// false.
constexpr std::uint64_t kCounterLeap = std::uint64_t{1} << 32;

/// The member itself would not refute such a statement.
bool leaps(const MemberUpdate& update, const Peer& known) {
    return update.counter > known.member.counter + kCounterLeap;
}

}  // namespace

void Updates::apply(const MemberUpdate& update, const gossip::MemberId& sender, Instant now) {
    if (update.id == context_.self.id()) {
        apply_to_self(update, now);
        return;
    }
    if (update.id.address == context_.self.address()) {
        return;  // an earlier incarnation of this process, or a conflict, which pings will show
    }
    if (is_gone(update.state)) {
        apply_death(update, sender, now);
        return;
    }
    if (const DeadMember* const dead = dead_.find(update.id)) {
        if (census_.larger_side()) {
            // This is old news. The correction is spread.
            dissemination_.spread({dead->id, dead->cause, {}, update.counter, 0});
        }
        return;
    }
    apply_live(update, now);
}

/// Members that have given this process up for good tell it by an obituary, which is another
/// message.
void Updates::apply_to_self(const MemberUpdate& update, Instant now) {
    WEIR_ASSERT(update.id == context_.self.id());
    Self& self = context_.self;
    if (update.state == MemberState::alive || update.counter < self.counter() ||
        update.counter - self.counter() > kCounterLeap) {
        return;
    }
    if (update.state == MemberState::replaced) {
        context_.events.conflict(self.id(), now);
        return;
    }
    self.refute(update.counter);
    ++context_.events.counters().refutations;
    prober_.doubt_ourselves();
    dissemination_.spread(self.update(MemberState::alive));
    dissemination_.hurry(now);
}

void Updates::apply_live(const MemberUpdate& update, Instant now) {
    WEIR_ASSERT(!is_gone(update.state));
    const Peer* const known = members_.find(update.id.address);
    if (known == nullptr) {
        apply_to_unknown(update, now);
        return;
    }
    if (known->member.id != update.id) {
        pings_.challenge(update.id, now);  // to find out which of the two is there
        return;
    }
    if (leaps(update, *known)) {
        return;
    }
    if (update.state == MemberState::alive) {
        apply_alive(known->member, update);
    } else {
        apply_suspicion(*known, update, now);
    }
}

void Updates::apply_to_unknown(const MemberUpdate& update, Instant now) {
    const bool joined = transitions_.join(update.id, update.flags, update.counter, now);
    if (joined && update.state == MemberState::suspect) {
        transitions_.suspect(update.id, update.counter, update.by, now);
    }
}

void Updates::apply_alive(const Member& known, const MemberUpdate& update) {
    WEIR_ASSERT(known.id == update.id);
    if (update.counter <= known.counter) {
        return;
    }
    members_.set_counter(update.id, update.counter);
    if (known.state == MemberState::suspect) {
        transitions_.clear(update.id);
    }
    if (known.flags != update.flags) {
        members_.set_flags(update.id, update.flags);
        context_.events.report(MembershipEvent::Kind::changed, update.id);
    }
    dissemination_.spread(update);
}

void Updates::apply_suspicion(const Peer& known, const MemberUpdate& update, Instant now) {
    WEIR_ASSERT(known.member.id == update.id);
    if (update.counter < known.member.counter) {
        return;  // refuted already
    }
    if (!known.suspicion) {
        transitions_.suspect(update.id, update.counter, update.by, now);
        return;
    }
    members_.set_counter(update.id, update.counter);
    if (update.by != 0 && members_.confirm(update.id, update.by)) {
        dissemination_.spread(update);
    }
}

void Updates::apply_death(const MemberUpdate& update, const gossip::MemberId& sender, Instant now) {
    WEIR_ASSERT(is_gone(update.state));
    const Peer* const known = members_.find(update.id);
    if (known == nullptr) {
        if (dead_.add({update.id, update.state, now})) {
            dissemination_.spread(update);
        }
    } else if (update.state != MemberState::dead) {
        transitions_.remove(update.id, update.state, now);
    } else if (update.counter >= known->member.counter && !leaps(update, *known)) {
        doubt_life(*known, update, sender, now);
    }
}

/// Another member believes a live member dead, and the latter has not refuted that yet.
void Updates::doubt_life(const Peer& known, const MemberUpdate& update,
                         const gossip::MemberId& sender, Instant now) {
    WEIR_ASSERT(update.counter >= known.member.counter);
    if (!known.suspicion) {
        transitions_.suspect(update.id, update.counter, sender.incarnation, now);
    }
    members_.confirm_death(update.id);
}

}  // namespace weir::membership
