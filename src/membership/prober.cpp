#include "membership/prober.h"

#include <algorithm>

namespace weir::membership {
namespace {

constexpr std::size_t kMaximumSoon = 64;

}  // namespace

void Prober::start(Instant now) {
    const double period = to_seconds(context_.settings.probe_period);
    next_round_ = now + from_seconds(context_.random.unit() * period);
}

void Prober::ask_others_if_late(Instant now) {
    if (!probe_ || probe_->indirect || now < probe_->indirect_at) {
        return;
    }
    probe_->indirect = true;
    for (const gossip::MemberId& helper : members_.pick(context_.settings.indirect_probes,
                                                        probe_->target.address, context_.random)) {
        WEIR_ASSERT(helper != probe_->target);
        DatagramBody body;
        body.add(gossip::MessageType::ping_request, PingRequest{probe_->nonce, probe_->target});
        context_.outbox.add(helper, body);
        ++probe_->helpers;
    }
    // Perhaps a new process is at the address, which does not answer a ping for the former
    // incarnation.
    pings_.search(probe_->target.address, now);
}

/// A failed probe counts against this process's own health, unless all helpers say that they got no
/// answer either.
std::optional<gossip::MemberId> Prober::end_round() {
    if (!probe_) {
        return std::nullopt;
    }
    const Probe probe = *probe_;
    probe_.reset();
    const Peer* const known = members_.find(probe.target);
    WEIR_ASSERT(known != nullptr);
    ++context_.events.counters().failed_probes;
    if (probe.helpers == 0 || probe.failures < probe.helpers) {
        doubt_ourselves();
    }
    if (known->member.last_heard > probe.began) {
        return std::nullopt;  // it lives, and only the ping was lost
    }
    return probe.target;
}

void Prober::begin_round(Instant now) {
    WEIR_ASSERT(!probe_);
    const MembershipSettings& settings = context_.settings;
    const std::uint32_t slowness = health_ + 1;
    next_round_ = now + settings.probe_period * slowness;
    const std::optional<gossip::MemberId> target = next_target();
    if (!target) {
        return;
    }
    ++context_.events.counters().probes;
    Probe probe;
    probe.target = *target;
    probe.began = now;
    probe.indirect_at = now + settings.probe_timeout * slowness;
    probe.nonce = pings_.probe(*target, now + settings.probe_period * slowness, now);
    probe_ = probe;
}

std::optional<gossip::MemberId> Prober::next_target() {
    while (!soon_.empty()) {
        const gossip::MemberId id = soon_.front();
        soon_.pop_front();
        if (members_.find(id) != nullptr) {
            return id;
        }
    }
    if (order_.empty()) {
        for (const gossip::MemberId& id :
             members_.pick(members_.size(), context_.self.address(), context_.random)) {
            order_.push_back(id.address);
        }
    }
    if (order_.empty()) {
        return std::nullopt;
    }
    const Peer* const next = members_.find(order_.back());
    WEIR_ASSERT(next != nullptr);
    order_.pop_back();
    return next->member.id;
}

void Prober::answered(const gossip::MemberId& member, Instant now) {
    if (probe_ && probe_->target == member) {
        succeeded(now);
    }
}

void Prober::succeeded(Instant now) {
    WEIR_ASSERT(members_.find(probe_->target) != nullptr);
    members_.heard(probe_->target, now);
    probe_.reset();
    health_ -= health_ > 0 ? 1 : 0;
}

std::optional<gossip::DatagramRejection> Prober::on_indirect(std::uint64_t nonce, bool answered,
                                                             Instant now) {
    if (!probe_ || probe_->nonce != nonce) {
        return gossip::DatagramRejection::unknown_answer;
    }
    if (answered) {
        succeeded(now);
    } else {
        ++probe_->failures;
    }
    return std::nullopt;
}

void Prober::question(const gossip::MemberId& member, Instant now) {
    pings_.probe(member, now);
    const bool waits = std::find(soon_.begin(), soon_.end(), member) != soon_.end();
    if (!waits && soon_.size() < kMaximumSoon) {
        soon_.push_front(member);
    }
    WEIR_ASSERT(soon_.size() <= kMaximumSoon);
}

/// In a small fleet every member probes the suspect next, in a large one about suspicion_probers of
/// all.
void Prober::suspected_by_other(const gossip::MemberId& member) {
    const std::size_t probers = context_.settings.suspicion_probers;
    if (soon_.size() < kMaximumSoon &&
        (members_.size() <= probers || context_.random.below(members_.size()) < probers)) {
        soon_.push_back(member);
    }
    WEIR_ASSERT(soon_.size() <= kMaximumSoon);
}

void Prober::joined(const gossip::MemberId& member) {
    WEIR_ASSERT(members_.find(member) != nullptr);
    const auto place = static_cast<std::ptrdiff_t>(context_.random.below(order_.size() + 1));
    order_.insert(order_.begin() + place, member.address);
    WEIR_ASSERT(order_.size() <= members_.size());
}

void Prober::removed(const gossip::MemberId& member) {
    WEIR_ASSERT(members_.find(member) == nullptr);
    std::erase(order_, member.address);
    if (probe_ && probe_->target == member) {
        probe_.reset();
    }
    WEIR_ASSERT(order_.size() <= members_.size());
}

void Prober::doubt_ourselves() {
    health_ = std::min(health_ + 1, context_.settings.maximum_local_health);
}

void Prober::resume(Instant now) {
    probe_.reset();
    next_round_ = now + context_.settings.probe_period;
}

}  // namespace weir::membership
