#include "membership/proofs.h"

namespace weir::membership {

void Proofs::met(const gossip::MemberId& sender, Instant now) {
    if (sender.address == context_.self.address()) {
        context_.events.conflict(sender, now);
    } else {
        pings_.challenge(sender, now);
    }
}

std::optional<gossip::DatagramRejection> Proofs::on_answer(const gossip::MemberId& sender,
                                                           const PingAnswer& answer, Instant now) {
    const std::optional<PendingPing> ping = pings_.take(answer.nonce, sender);
    if (!ping) {
        return gossip::DatagramRejection::unknown_answer;
    }
    WEIR_ASSERT(ping->kind == PingKind::search || ping->to == sender.address);
    if (ping->kind == PingKind::challenge && sender != ping->target &&
        members_.find(sender) != nullptr) {
        // Another process claims the address of a live member.
        context_.events.conflict(sender, now);
    }
    prove(sender, answer, ping->sent, now);
    if (ping->kind == PingKind::favour && sender == ping->target) {
        tell_requester(*ping);
    }
    prober_.answered(sender, now);
    if (members_.find(sender) != nullptr) {
        members_.set_round_trip(sender, now - ping->sent);
        lists_.compare(sender, answer.digest, now);
    }
    return std::nullopt;
}

void Proofs::tell_requester(const PendingPing& favour) {
    WEIR_ASSERT(favour.kind == PingKind::favour);
    if (members_.find(favour.requester) == nullptr) {
        return;
    }
    DatagramBody body;
    body.add(gossip::MessageType::indirect_answer, IndirectAnswer{favour.requester_nonce});
    context_.outbox.add(favour.requester, body);
}

/// Notes that a process repeated the random number of a ping that was sent at `asked`: this
/// incarnation lives, and at this address.
void Proofs::prove(const gossip::MemberId& id, const PingAnswer& answer, Instant asked,
                   Instant now) {
    if (id.address == context_.self.address()) {
        context_.events.conflict(id, now);
        return;
    }
    if (const DeadMember* const dead = dead_.find(id)) {
        renewal_.resolve(DeadMember(*dead), now);
        return;
    }
    const Peer* const there = members_.find(id.address);
    if (there == nullptr) {
        welcome(id, answer, now);
    } else if (there->member.id == id) {
        members_.heard(id, now);
    } else if (asked <= there->met) {
        // The process may have answered before the member that is known by now started, so the
        // address is asked again.
        pings_.search(id.address, now);
    } else {
        const gossip::MemberId former = there->member.id;
        transitions_.remove(former, MemberState::replaced, now);
        welcome(id, answer, now);
    }
}

void Proofs::welcome(const gossip::MemberId& id, const PingAnswer& answer, Instant now) {
    WEIR_ASSERT(!members_.contains(id.address));
    transitions_.join(id, answer.flags, answer.counter, now);
    if (answer.digest == 0) {  // the sender does not know this member yet
        pings_.probe(id, now);
    }
}

}  // namespace weir::membership
