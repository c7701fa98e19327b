#include "membership/transitions.h"

#include <vector>

namespace weir::membership {
namespace {

MembershipEvent::Kind event_of(MemberState cause) {
    WEIR_ASSERT(is_gone(cause));
    if (cause == MemberState::dead) {
        return MembershipEvent::Kind::dead;
    }
    return cause == MemberState::left ? MembershipEvent::Kind::left
                                      : MembershipEvent::Kind::replaced;
}

}  // namespace

bool Transitions::join(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter,
                       Instant now) {
    WEIR_ASSERT(dead_.find(id) == nullptr);
    WEIR_ASSERT(id.address != context_.self.address());
    if (members_.full()) {
        ++context_.events.counters().refused_members;
        return false;
    }
    members_.add(id, flags, counter, now);
    prober_.joined(id);
    context_.events.report(MembershipEvent::Kind::joined, id);
    dissemination_.spread({id, MemberState::alive, flags, counter, 0});
    return true;
}

void Transitions::remove(const gossip::MemberId& id, MemberState cause, Instant now) {
    const MembershipEvent::Kind event = event_of(cause);
    const Member gone = members_.remove(id);
    search_.hurry();
    prober_.removed(id);
    const bool added = dead_.add({id, cause, now});
    WEIR_ASSERT(added);
    context_.events.counters().deaths += cause == MemberState::dead ? 1 : 0;
    context_.events.report(event, id);
    dissemination_.spread({id, cause, {}, gone.counter, 0});
}

void Transitions::suspect(const gossip::MemberId& id, std::uint64_t counter, gossip::Incarnation by,
                          Instant now) {
    ++context_.events.counters().suspicions;
    members_.suspect(id, counter, by, context_.settings, now);
    context_.events.report(MembershipEvent::Kind::suspected, id);
    const MemberFlags flags = members_.find(id)->member.flags;
    dissemination_.spread({id, MemberState::suspect, flags, counter, by});
    if (by != context_.self.id().incarnation) {
        prober_.suspected_by_other(id);
    }
}

void Transitions::probe_failed(const gossip::MemberId& id, Instant now) {
    const Peer* const known = members_.find(id);
    WEIR_ASSERT(known != nullptr);
    const Member member = known->member;
    const gossip::Incarnation self = context_.self.id().incarnation;
    if (!known->suspicion) {
        suspect(id, member.counter, self, now);
    } else if (members_.confirm(id, self)) {
        dissemination_.spread({id, MemberState::suspect, member.flags, member.counter, self});
    }
}

void Transitions::clear(const gossip::MemberId& id) {
    members_.end_suspicion(id);
    context_.events.report(MembershipEvent::Kind::cleared, id);
}

void Transitions::tick(Instant now) {
    std::vector<gossip::MemberId> dead;
    for (const Endpoint& address : members_.suspects()) {
        const Peer* const known = members_.find(address);
        WEIR_ASSERT(known != nullptr && known->suspicion.has_value());
        const Member& member = known->member;
        if (known->suspicion->deadline() > now) {
            continue;
        }
        if (member.last_heard > known->suspicion->began()) {
            // The suspect was heard and may not know of the suspicion: it is told of it, and the
            // suspicion begins again.
            members_.restart_suspicion(member.id, now);
            pings_.probe(member.id, now);
        } else {
            dead.push_back(member.id);
        }
    }
    for (const gossip::MemberId& id : dead) {
        remove(id, MemberState::dead, now);
    }
}

}  // namespace weir::membership
