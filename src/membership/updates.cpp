// What members tell of members: suspicions, refutations, deaths, lists. Part of Membership.

#include <algorithm>

#include "membership/body.h"

namespace weir::membership {
namespace {

/// A counter that leaps further than any refutation could is a lie.
constexpr std::uint64_t kCounterLeap = std::uint64_t{1} << 32;
constexpr std::size_t kMaximumSoon = 64;
constexpr Duration kFirstListInterval = std::chrono::milliseconds(200);

bool is_live(MemberState state) {
    return state == MemberState::alive || state == MemberState::suspect;
}

}  // namespace

void Membership::apply(const MemberUpdate& update, const gossip::MemberId& sender, Instant now) {
    if (update.id == self_) {
        apply_to_self(update, now);
        return;
    }
    if (update.id.address == self_.address) {
        return;  // our former selves, or a conflict that pings will show
    }
    if (!is_live(update.state)) {
        apply_death(update, sender, now);
        return;
    }
    if (const DeadMember* dead = dead_.find(update.id)) {
        if (larger_side()) {
            spread({dead->id, dead->cause, {}, update.counter, 0});  // old news: correct it
        }
        return;
    }
    apply_live(update, now);
}

/// Whatever bad is said of us, we live: the counter says so. (Who holds us for dead for good tells
/// us by an obituary.)
void Membership::apply_to_self(const MemberUpdate& update, Instant now) {
    if (update.state == MemberState::alive || update.counter < counter_ ||
        update.counter - counter_ > kCounterLeap) {
        return;
    }
    if (update.state == MemberState::replaced) {
        conflict(self_, now);
        return;
    }
    refute(update.counter, now);
}

void Membership::refute(std::uint64_t counter, Instant now) {
    counter_ = counter + 1;
    ++counters_.refutations;
    health_ = std::min(health_ + 1, settings_.maximum_local_health);
    spread(own_update(MemberState::alive));
    next_rumours_ = now;
}

void Membership::apply_live(const MemberUpdate& update, Instant now) {
    const auto found = members_.find(update.id.address);
    if (found == members_.end()) {
        join(update.id, update.flags, update.counter, now);
        if (Peer* const joined = peer(update.id);
            joined != nullptr && update.state == MemberState::suspect) {
            suspect(*joined, update.counter, update.by, now);
        }
        return;
    }
    Peer& known = found->second;
    if (known.member.id != update.id) {
        challenge(update.id, now);  // which of the two is really there?
        return;
    }
    if (update.counter > known.member.counter + kCounterLeap) {
        return;
    }
    if (update.state == MemberState::alive) {
        apply_alive(known, update);
    } else {
        apply_suspicion(known, update, now);
    }
}

void Membership::apply_alive(Peer& known, const MemberUpdate& update) {
    if (update.counter <= known.member.counter) {
        return;
    }
    known.member.counter = update.counter;
    if (known.suspicion) {
        known.suspicion.reset();
        suspects_.erase(known.member.id.address);
        known.member.state = MemberState::alive;
        report(MembershipEvent::Kind::cleared, known.member.id);
    }
    if (known.member.flags != update.flags) {
        members_digest_ ^= member_hash(known.member.id, known.member.flags) ^
                           member_hash(known.member.id, update.flags);
        known.member.flags = update.flags;
        report(MembershipEvent::Kind::changed, known.member.id);
    }
    spread(update);
}

void Membership::apply_suspicion(Peer& known, const MemberUpdate& update, Instant now) {
    if (update.counter < known.member.counter) {
        return;  // refuted already
    }
    if (!known.suspicion) {
        suspect(known, update.counter, update.by, now);
        return;
    }
    known.member.counter = update.counter;
    if (update.by != 0 && known.suspicion->confirm(update.by)) {
        spread(update);
    }
}

void Membership::suspect(Peer& known, std::uint64_t counter, gossip::Incarnation by, Instant now) {
    ++counters_.suspicions;
    suspects_.insert(known.member.id.address);
    known.suspicion.emplace(settings_, members_.size() + 1, by, now);
    known.member.state = MemberState::suspect;
    known.member.since = now;
    known.member.counter = counter;
    report(MembershipEvent::Kind::suspected, known.member.id);
    spread({known.member.id, MemberState::suspect, known.member.flags, counter, by});
    if (by != self_.incarnation && probe_soon_.size() < kMaximumSoon && drawn_to_probe()) {
        probe_soon_.push_back(known.member.id);
    }
}

/// Everybody in a small fleet, about suspicion_probers in all in a large one.
bool Membership::drawn_to_probe() {
    return members_.size() <= settings_.suspicion_probers ||
           random_.below(members_.size()) < settings_.suspicion_probers;
}

/// Goodbyes and replacements are final; a death counts as much as all confirmations together.
void Membership::apply_death(const MemberUpdate& update, const gossip::MemberId& sender,
                             Instant now) {
    Peer* const known = peer(update.id);
    if (known == nullptr) {
        if (dead_.add({update.id, update.state, now})) {
            spread(update);
        }
        return;
    }
    if (update.state != MemberState::dead) {
        remove(update.id, update.state, now);
        return;
    }
    if (update.counter < known->member.counter) {
        return;
    }
    if (!known->suspicion) {
        suspect(*known, std::max(update.counter, known->member.counter), sender.incarnation, now);
    }
    known->suspicion->confirm_death();
}

void Membership::tick_suspicions(Instant now) {
    std::vector<gossip::MemberId> dead;
    for (const Endpoint& address : suspects_) {
        Peer& known = members_.at(address);
        if (known.suspicion->deadline() > now) {
            continue;
        }
        if (known.member.last_heard > known.suspicion->began()) {
            // It lives and may not know what is said of it: tell it, and wait once more.
            known.suspicion->restart(now);
            send_ping({PingKind::probe, address, known.member.id, {}, 0, {}, {}}, now);
        } else {
            dead.push_back(known.member.id);
        }
    }
    for (const gossip::MemberId& id : dead) {
        remove(id, MemberState::dead, now);
    }
}

void Membership::spread(const MemberUpdate& update) {
    const bool tells = settings_.lists || update.id == self_;
    if (tells && rumours_.add(update)) {
        ++counters_.dropped_rumours;
    }
}

void Membership::tick_rumours(Instant now) {
    if (now < next_rumours_ || rumours_.empty() || members_.empty()) {
        return;
    }
    next_rumours_ = now + settings_.rumour_interval;
    for (const gossip::MemberId& id : pick(settings_.rumour_fanout, self_.address)) {
        Body body;
        if (rumours_.write(body.writer(), body.room(), rumour_limit()) > 0) {
            datagrams_.push_back({id.address, id.incarnation, body.bytes(), Urgency::news});
        }
    }
}

void Membership::compare_digest(const gossip::MemberId& sender, std::uint64_t theirs, Instant now) {
    if (!settings_.lists || theirs == 0 || theirs == digest() || now < next_list_) {
        return;
    }
    next_list_ = now + (members_.size() < 2 ? kFirstListInterval : settings_.list_interval);
    ask_list(sender, {});
}

void Membership::ask_list(const gossip::MemberId& sender, const Endpoint& after) {
    Body body;
    body.add(gossip::MessageType::member_list_ask, MemberListAsk{after});
    datagrams_.push_back({sender.address, sender.incarnation, body.bytes()});
}

void Membership::send_list(const gossip::MemberId& to, const Endpoint& after) {
    std::size_t room = gossip::kMaximumPayload - 1;
    MemberList list;
    // Ourselves in front of the first page, then the others by address.
    if (after == Endpoint{}) {
        list.members.push_back(own_update(MemberState::alive));
        room -= encoded_size(list.members.back());
    }
    auto next = members_.upper_bound(after);
    for (; next != members_.end(); ++next) {
        const Member& member = next->second.member;
        const MemberUpdate update{member.id, MemberState::alive, member.flags, member.counter, 0};
        if (encoded_size(update) > room) {
            break;
        }
        list.members.push_back(update);
        room -= encoded_size(update);
    }
    list.more = next != members_.end();
    Body body;
    body.add(gossip::MessageType::member_list, list);
    datagrams_.push_back({to.address, to.incarnation, body.bytes(), Urgency::list});
}

void Membership::on_list(const gossip::MemberId& sender, const MemberList& list, Instant now) {
    for (const MemberUpdate& update : list.members) {
        if (update.state == MemberState::alive) {
            apply(update, sender, now);
        }
    }
    if (list.more && !list.members.empty()) {
        ask_list(sender, list.members.back().id.address);
    }
}

}  // namespace weir::membership
