#include "membership/pings.h"

#include <algorithm>

namespace weir::membership {
namespace {

/// How long a ping waits for its answer, unless it says otherwise.
constexpr Duration kPingMemory = std::chrono::seconds(2);
/// At most one challenge to each address per interval.
constexpr Duration kChallengeInterval = std::chrono::milliseconds(200);

}  // namespace

void Pings::set_hints(ByteSpan payload) {
    const ByteSpan kept = payload.size() <= kMaximumHints ? payload : ByteSpan{};
    hints_.assign(kept.begin(), kept.end());
}

std::uint64_t Pings::probe(const gossip::MemberId& member, Instant expires, Instant now) {
    WEIR_ASSERT(member.incarnation != 0);
    return send({PingKind::probe, member.address, member, {}, 0, now, expires}, now);
}

void Pings::probe(const gossip::MemberId& member, Instant now) {
    probe(member, now + kPingMemory, now);
}

void Pings::favour(const gossip::MemberId& requester, const PingRequest& request, Instant now) {
    WEIR_ASSERT(request.target.incarnation != 0);
    send({PingKind::favour, request.target.address, request.target, requester, request.nonce, now,
          now + context_.settings.probe_timeout},
         now);
}

void Pings::search(const Endpoint& address, Instant now) {
    send({PingKind::search, address, {}, {}, 0, now, now + kPingMemory}, now);
}

void Pings::challenge(const gossip::MemberId& claimed, Instant now) {
    WEIR_ASSERT(claimed.incarnation != 0);
    if (may_challenge(claimed, most_challenges(), now)) {
        send({PingKind::challenge, claimed.address, claimed, {}, 0, now, now + kPingMemory}, now);
    }
}

void Pings::challenge_along(const gossip::MemberId& claimed, DatagramBody& answer, Instant now) {
    WEIR_ASSERT(answer.room() >= kBarePing);
    if (!may_challenge(claimed, most_challenges() / 2, now)) {
        return;
    }
    const std::uint64_t nonce = remember(
        {PingKind::challenge, claimed.address, claimed, {}, 0, now, now + kPingMemory}, now);
    if (nonce != 0) {
        answer.add(gossip::MessageType::ping, Ping{nonce, lists_.digest(), 0});
    }
}

std::size_t Pings::most_challenges() const {
    return std::clamp(members_.size() / 4, context_.settings.challenges,
                      context_.settings.challenges_limit);
}

bool Pings::may_challenge(const gossip::MemberId& claimed, std::size_t most, Instant now) {
    std::size_t challenges = 0;
    for (const auto& [nonce, ping] : pings_) {
        if (ping.kind != PingKind::challenge) {
            continue;
        }
        ++challenges;
        if (ping.to == claimed.address && now - ping.sent < kChallengeInterval) {
            return false;
        }
    }
    context_.events.counters().dropped_challenges += challenges < most ? 0 : 1;
    return challenges < most;
}

/// Gives the ping a new random number; 0 if there is no room for it.
std::uint64_t Pings::remember(PendingPing ping, Instant now) {
    WEIR_ASSERT(pings_.size() <= kCapacity);
    if (pings_.size() == kCapacity) {
        ++context_.events.counters().dropped_pings;
        return 0;
    }
    const std::uint64_t nonce = context_.random.next();
    ping.sent = now;
    pings_[nonce] = ping;
    return nonce;
}

std::uint64_t Pings::send(const PendingPing& ping, Instant now) {
    const std::uint64_t nonce = remember(ping, now);
    if (nonce == 0) {
        return 0;
    }
    // A challenge does not name the incarnation that it asks for: another one may be there.
    if (ping.kind == PingKind::search || ping.kind == PingKind::challenge) {
        send_open(ping.to, nonce);
    } else {
        send_to_member(ping.target, nonce);
    }
    return nonce;
}

void Pings::send_to_member(const gossip::MemberId& to, std::uint64_t nonce) {
    DatagramBody extra;
    const Peer* const known = members_.find(to);
    if (known != nullptr && known->suspicion) {
        // The suspect is told first, so that it can refute the suspicion.
        const MemberUpdate suspicion{
            to, MemberState::suspect, {}, known->member.counter, context_.self.id().incarnation};
        extra.add(gossip::MessageType::member_updates, std::span(&suspicion, 1));
    }
    if (!hints_.empty()) {
        extra.add_bytes(gossip::MessageType::hints, hints_);
    }
    WEIR_ASSERT(extra.room() >= kBarePing);
    dissemination_.write(extra, extra.room() - kBarePing);
    const auto padding = static_cast<std::uint16_t>(
        kPingPadding - std::min<std::size_t>(extra.size(), kPingPadding));
    DatagramBody body;
    body.add(gossip::MessageType::ping, Ping{nonce, lists_.digest(), padding});
    body.append(extra);
    context_.outbox.add(to, body);
}

void Pings::send_open(const Endpoint& to, std::uint64_t nonce) {
    DatagramBody body;
    body.add(gossip::MessageType::ping, Ping{nonce, 0, kPingPadding});
    context_.outbox.add_open(to, body);
}

std::optional<PendingPing> Pings::take(std::uint64_t nonce, const gossip::MemberId& sender) {
    const auto found = pings_.find(nonce);
    if (found == pings_.end() ||
        (found->second.kind != PingKind::search && sender.address != found->second.to)) {
        return std::nullopt;
    }
    const PendingPing ping = found->second;
    pings_.erase(found);
    return ping;
}

bool Pings::any_with_deadline() const {
    return std::any_of(pings_.begin(), pings_.end(), [](const auto& ping) {
        return ping.second.kind == PingKind::probe || ping.second.kind == PingKind::favour;
    });
}

void Pings::tick(Instant now) {
    for (auto it = pings_.begin(); it != pings_.end();) {
        if (it->second.expires > now) {
            ++it;
            continue;
        }
        const PendingPing ping = it->second;
        it = pings_.erase(it);
        if (ping.kind == PingKind::favour && members_.find(ping.requester) != nullptr) {
            DatagramBody body;
            body.add(gossip::MessageType::indirect_failure, IndirectAnswer{ping.requester_nonce});
            context_.outbox.add(ping.requester, body);
        }
    }
}

}  // namespace weir::membership
