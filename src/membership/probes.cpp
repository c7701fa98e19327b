// Pings of all kinds: probes with their indirect half, favours for others, challenges to whoever is
// not known, and seeds. Part of Membership, see membership.h.

#include <algorithm>

#include "membership/body.h"

namespace weir::membership {
namespace {

constexpr std::size_t kMaximumPings = 1024;
constexpr std::size_t kMaximumQuestions = 64;  // that wait in probe_soon_
constexpr Duration kChallengeInterval = std::chrono::milliseconds(200);
constexpr std::size_t kAskedAtOnce = 16;  // of the lost ones
constexpr Duration kPingMemory = std::chrono::seconds(2);
/// A body below this is padded, see kPingPadding.
constexpr std::size_t kPaddedBody = gossip::kMessageOverhead + 16 + kPingPadding;

}  // namespace

/// Remembers the ping under a new random number; 0 if there is no room for it.
std::uint64_t Membership::register_ping(PendingPing ping, Instant now) {
    if (pings_.size() >= kMaximumPings) {
        ++counters_.dropped_pings;
        return 0;
    }
    const std::uint64_t nonce = random_.next();
    ping.sent = now;
    if (ping.expires == Instant{}) {
        ping.expires = now + kPingMemory;
    }
    pings_[nonce] = ping;
    return nonce;
}

std::uint64_t Membership::send_ping(PendingPing ping, Instant now) {
    const std::uint64_t nonce = register_ping(ping, now);
    if (nonce == 0) {
        return 0;
    }
    if (ping.target.incarnation != 0 && ping.kind != PingKind::challenge) {
        send_addressed_ping(ping.target, nonce);
    } else {
        send_open_ping(ping.to, nonce);
    }
    return nonce;
}

void Membership::send_addressed_ping(const gossip::MemberId& to, std::uint64_t nonce) {
    Body extra;
    const Peer* const known = peer(to);
    if (known != nullptr && known->suspicion) {
        // The suspect learns of it first of all, so that it can refute.
        extra.add(
            gossip::MessageType::member_updates,
            MemberUpdate{to, MemberState::suspect, {}, known->member.counter, self_.incarnation});
    }
    if (!hints_.empty()) {
        extra.add_bytes(gossip::MessageType::hints, hints_);
    }
    const std::size_t room = extra.room() - (gossip::kMessageOverhead + 16);
    rumours_.write(extra.writer(), room, rumour_limit());
    Body body;
    const auto padding = static_cast<std::uint16_t>(
        extra.size() >= kPingPadding
            ? 0
            : kPaddedBody - (gossip::kMessageOverhead + 16) - extra.size());
    body.add(gossip::MessageType::ping, Ping{nonce, digest(), padding});
    body.writer().bytes(extra.writer().written());
    datagrams_.push_back({to.address, to.incarnation, body.bytes()});
}

void Membership::send_open_ping(const Endpoint& to, std::uint64_t nonce) {
    Body body;
    body.add(gossip::MessageType::ping, Ping{nonce, 0, kPingPadding});
    datagrams_.push_back({to, 0, body.bytes()});
}

std::size_t Membership::challenges_limit() const {
    return std::clamp(members_.size() / 4, settings_.challenges, settings_.challenges_limit);
}

/// "Whoever is at this address: say so." Bounded, so that nobody can make us flood an address.
bool Membership::may_challenge(const gossip::MemberId& claimed, std::size_t most, Instant now) {
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
    counters_.dropped_challenges += challenges < most ? 0 : 1;
    return challenges < most;
}

void Membership::challenge(const gossip::MemberId& claimed, Instant now) {
    if (may_challenge(claimed, challenges_limit(), now)) {
        send_ping({PingKind::challenge, claimed.address, claimed, {}, 0, {}, {}}, now);
    }
}

/// Who asks without knowing us wants to become a member: our own question goes along with the
/// answer. Only where the ping came from the address that it claims, and only half of all
/// challenges begin so: whoever repeats captured pings leaves the other half.
void Membership::challenge_back(const Origin& origin, Body& answer, Instant now) {
    constexpr std::size_t kBarePing = gossip::kMessageOverhead + 16;
    const gossip::MemberId& asker = origin.sender;
    const bool wanted = origin.from == asker.address && asker.address != self_.address &&
                        standing(asker) == Standing::unknown &&
                        answer.size() + kBarePing <= origin.answer_room;
    if (!wanted || !may_challenge(asker, challenges_limit() / 2, now)) {
        return;
    }
    const std::uint64_t nonce =
        register_ping({PingKind::challenge, asker.address, asker, {}, 0, {}, {}}, now);
    if (nonce != 0) {
        answer.add(gossip::MessageType::ping, Ping{nonce, digest(), 0});
    }
}

void Membership::tick_pings(Instant now) {
    for (auto it = pings_.begin(); it != pings_.end();) {
        if (it->second.expires > now) {
            ++it;
            continue;
        }
        const PendingPing ping = it->second;
        it = pings_.erase(it);
        if (ping.kind == PingKind::favour && find(ping.requester) != nullptr) {
            Body body;
            body.add(gossip::MessageType::indirect_failure, IndirectAnswer{ping.requester_nonce});
            datagrams_.push_back(
                {ping.requester.address, ping.requester.incarnation, body.bytes()});
        }
    }
}

void Membership::tick_probe(Instant now) {
    if (probe_ && !probe_->indirect && now >= probe_->indirect_at) {
        ask_others(now);
    }
    if (now < next_probe_) {
        return;
    }
    if (probe_) {
        probe_failed(now);
    }
    start_probe(now);
    next_probe_ = now + settings_.probe_period * (health_ + 1);
}

/// Those whom others suspect come first, then everybody in a random order that is drawn anew after
/// each round (SWIM, 4.3): nobody waits longer than two rounds.
std::optional<gossip::MemberId> Membership::next_target() {
    while (!probe_soon_.empty()) {
        const gossip::MemberId id = probe_soon_.front();
        probe_soon_.pop_front();
        if (find(id) != nullptr) {
            return id;
        }
    }
    if (probe_order_.empty()) {
        for (const gossip::MemberId& id : pick(members_.size(), self_.address)) {
            probe_order_.push_back(id.address);
        }
    }
    if (probe_order_.empty()) {
        return std::nullopt;
    }
    const auto found = members_.find(probe_order_.back());
    probe_order_.pop_back();
    return found->second.member.id;
}

void Membership::start_probe(Instant now) {
    const std::optional<gossip::MemberId> target = next_target();
    if (!target) {
        return;
    }
    ++counters_.probes;
    Probe probe;
    probe.target = *target;
    probe.began = now;
    probe.indirect_at = now + settings_.probe_timeout * (health_ + 1);
    probe.nonce = send_ping({PingKind::probe,
                             target->address,
                             *target,
                             {},
                             0,
                             {},
                             now + settings_.probe_period * (health_ + 1)},
                            now);
    probe_ = probe;
}

void Membership::question(const gossip::MemberId& member, Instant now) {
    if (find(member) == nullptr) {
        return;
    }
    send_ping({PingKind::probe, member.address, member, {}, 0, {}, {}}, now);
    const bool waits =
        std::find(probe_soon_.begin(), probe_soon_.end(), member) != probe_soon_.end();
    if (!waits && probe_soon_.size() < kMaximumQuestions) {
        probe_soon_.push_front(member);
    }
}

/// No answer yet: three others are asked, and the address itself without naming the incarnation,
/// in case that a new process is there.
void Membership::ask_others(Instant now) {
    probe_->indirect = true;
    for (const gossip::MemberId& helper : pick(settings_.indirect_probes, probe_->target.address)) {
        Body body;
        body.add(gossip::MessageType::ping_request, PingRequest{probe_->nonce, probe_->target});
        datagrams_.push_back({helper.address, helper.incarnation, body.bytes()});
        ++probe_->failures_wanted;
    }
    send_ping({PingKind::seed, probe_->target.address, {}, {}, 0, {}, {}}, now);
}

void Membership::probe_failed(Instant now) {
    const Probe probe = *probe_;
    probe_.reset();
    Peer* const known = peer(probe.target);
    if (known == nullptr) {
        return;
    }
    ++counters_.failed_probes;
    const bool our_fault = probe.failures_wanted == 0 || probe.failures < probe.failures_wanted;
    if (our_fault) {
        health_ = std::min(health_ + 1, settings_.maximum_local_health);
    }
    if (known->member.last_heard > probe.began) {
        return;  // it lives; only our question was lost
    }
    if (!known->suspicion) {
        suspect(*known, known->member.counter, self_.incarnation, now);
    } else if (known->suspicion->confirm(self_.incarnation)) {
        spread({probe.target, MemberState::suspect, known->member.flags, known->member.counter,
                self_.incarnation});
    }
}

void Membership::probe_succeeded(Instant now) {
    if (Peer* const known = peer(probe_->target)) {
        known->member.last_heard = now;
    }
    probe_.reset();
    health_ -= health_ > 0 ? 1 : 0;
}

void Membership::tick_seeds(Instant now) {
    if (now < next_seeds_) {
        return;
    }
    std::vector<Endpoint> wanted;
    for (const Endpoint& seed : seeds_) {
        if (seed != self_.address && !members_.contains(seed)) {
            wanted.push_back(seed);
        }
    }
    next_seeds_ = now + from_seconds(to_seconds(seed_wait_) * (0.75 + random_.unit() / 2));
    seed_wait_ = wanted.empty() ? settings_.seed_interval
                                : std::min(2 * seed_wait_, settings_.seed_interval_limit);
    for (std::uint32_t i = 0; i < settings_.seeds_at_once && !wanted.empty(); ++i) {
        const std::size_t chosen = random_.below(wanted.size());
        ping_seed(wanted[chosen], now);
        wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
}

/// Where somebody was given up and nobody is known now.
std::vector<Endpoint> Membership::lost() const {
    std::vector<Endpoint> lost;
    for (const DeadMember& dead : dead_.since(Instant::min())) {
        if (dead.cause == MemberState::dead && !members_.contains(dead.id.address)) {
            lost.push_back(dead.id.address);
        }
    }
    return lost;
}

void Membership::tick_lost(Instant now) {
    if (now < next_lost_) {
        return;
    }
    const double share = static_cast<double>(members_.size() + 1) / settings_.lost_pings_per_second;
    const Duration interval =
        std::clamp(from_seconds(share), settings_.lost_interval, settings_.seed_interval);
    next_lost_ = now + from_seconds(to_seconds(interval) * (0.75 + random_.unit() / 2));
    const std::vector<Endpoint> addresses = lost();
    if (!addresses.empty()) {
        ping_seed(addresses[random_.below(addresses.size())], now);
    }
}

/// One who had been given up lives: so may others. The rest is told on by whoever is met.
void Membership::ask_lost(std::vector<Endpoint> lost, Instant now) {
    if (now < next_ask_lost_) {
        return;
    }
    next_ask_lost_ = now + settings_.seed_interval;
    for (std::size_t i = 0; i < kAskedAtOnce && !lost.empty(); ++i) {
        const std::size_t chosen = random_.below(lost.size());
        ping_seed(lost[chosen], now);
        lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
}

void Membership::ping_seed(const Endpoint& address, Instant now) {
    send_ping({PingKind::seed, address, {}, {}, 0, {}, {}}, now);
}

/// Always to where the ping came from, never larger than it.
std::optional<gossip::Rejection> Membership::on_ping(const Origin& origin, const Ping& ping,
                                                     Instant now) {
    const bool trusted = origin.addressed && find(origin.sender) != nullptr;
    if (!(trusted ? answers_ : open_answers_).take(1, now)) {
        return gossip::Rejection::ping_limit;
    }
    Body body;
    body.add(gossip::MessageType::answer,
             Answer{ping.nonce, trusted ? digest() : 0, flags_, counter_});
    if (body.size() > origin.answer_room) {
        return gossip::Rejection::amplification;
    }
    if (trusted) {
        compare_digest(origin.sender, ping.digest, now);
        const std::size_t room = std::min(origin.answer_room - body.size(), body.room());
        if (!rumours_.empty() && answered_news_.take(room, now)) {
            rumours_.write(body.writer(), room, rumour_limit());
        }
    }
    if (!trusted) {
        challenge_back(origin, body, now);
    }
    datagrams_.push_back({origin.from, origin.sender.incarnation, body.bytes(),
                          trusted ? Urgency::now : Urgency::greeting});
    return std::nullopt;
}

std::optional<gossip::Rejection> Membership::on_answer(const Origin& origin, const Answer& answer,
                                                       Instant now) {
    const auto found = pings_.find(answer.nonce);
    if (found == pings_.end()) {
        return gossip::Rejection::unknown_answer;
    }
    const PendingPing ping = found->second;
    const gossip::MemberId& sender = origin.sender;
    if (ping.kind != PingKind::seed && sender.address != ping.to) {
        return gossip::Rejection::unknown_answer;
    }
    pings_.erase(found);
    if (ping.kind == PingKind::challenge && sender != ping.target && find(sender) != nullptr) {
        conflict(sender, now);  // somebody else claims the address of a member that is there
    }
    prove(sender, answer, ping.sent, now);
    if (Peer* const known = peer(sender)) {
        known->member.round_trip = now - ping.sent;
    }
    if (ping.kind == PingKind::favour && sender == ping.target && find(ping.requester) != nullptr) {
        Body body;
        body.add(gossip::MessageType::indirect_answer, IndirectAnswer{ping.requester_nonce});
        datagrams_.push_back({ping.requester.address, ping.requester.incarnation, body.bytes()});
    }
    if (probe_ && probe_->target == sender) {
        probe_succeeded(now);
    }
    if (find(sender) != nullptr) {
        compare_digest(sender, answer.digest, now);
    }
    return std::nullopt;
}

void Membership::on_ping_request(const gossip::MemberId& sender, const PingRequest& request,
                                 Instant now) {
    if (request.target == self_) {
        return;
    }
    send_ping({PingKind::favour,
               request.target.address,
               request.target,
               sender,
               request.nonce,
               {},
               now + settings_.probe_timeout},
              now);
}

std::optional<gossip::Rejection> Membership::on_indirect(std::uint64_t nonce, bool answered,
                                                         Instant now) {
    if (!probe_ || probe_->nonce != nonce) {
        return gossip::Rejection::unknown_answer;
    }
    if (answered) {
        probe_succeeded(now);
    } else {
        ++probe_->failures;
    }
    return std::nullopt;
}

}  // namespace weir::membership
