#include "membership/sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace weir::membership {
namespace {

constexpr Duration kLateHandover = std::chrono::seconds(2);

}  // namespace

Sessions::Admitted Sessions::admit_to(MemberSession& session, const gossip::Envelope& envelope,
                                      Instant now) {
    if (const auto rejection = session.session.window.accept(envelope.sequence)) {
        return {{}, rejection};
    }
    const auto age = session.session.age.age(envelope.sent_at_us, now);
    if (!age) {
        return {{}, gossip::DatagramRejection::clock};
    }
    session.session.lead.note(envelope.sent_at_us, now);
    lead_seen_ = lead_seen_ || session.session.lead.lead(now) >= kLeastLead;
    return {*age, std::nullopt};
}

Sessions::Admitted Sessions::admit(const gossip::Envelope& envelope, gossip::KeyId key,
                                   Instant now) {
    MemberSession& session = sessions_[envelope.sender];
    const Admitted admitted = admit_to(session, envelope, now);
    if (!admitted.rejection) {
        session.key = key;
    }
    return admitted;
}

Sessions::Admitted Sessions::admit_late(const gossip::Envelope& envelope, Instant now) {
    const auto found = sessions_.find(envelope.sender);
    WEIR_ASSERT(found != sessions_.end() && found->second.left_at.has_value());
    return admit_to(found->second, envelope, now);
}

bool Sessions::left_lately(const gossip::MemberId& member) const {
    const auto found = sessions_.find(member);
    return found != sessions_.end() && found->second.left_at.has_value();
}

gossip::KeyId Sessions::key_of(const gossip::MemberId& member) const {
    const auto found = sessions_.find(member);
    return found == sessions_.end() ? 0 : found->second.key;
}

std::uint64_t Sessions::next_sequence(const gossip::MemberId& to, std::uint64_t fresh) {
    WEIR_ASSERT(fresh > 0);
    std::uint64_t& last = sessions_[to].session.last_sequence;
    last = last == 0 ? fresh : last + 1;
    return last;
}

Duration Sessions::clock_behind(std::size_t members, Instant now) {
    const bool rests = caught_up_at_ && now - *caught_up_at_ < kRest;
    if (!std::exchange(lead_seen_, false) || rests) {
        return {};
    }
    std::vector<Duration> leads;
    std::size_t heard = 0;
    for (const auto& [member, session] : sessions_) {
        const auto lead = session.session.lead.lead(now);
        heard += lead ? 1U : 0U;
        if (lead && *lead >= kLeastLead) {
            leads.push_back(*lead);
        }
    }
    const bool agreed = 2 * leads.size() > heard && (leads.size() > 1 || members == 1);
    if (!agreed) {
        return {};
    }
    // One that leaps further than all others does not count.
    std::sort(leads.begin(), leads.end());
    return leads[(leads.size() - 1) / 2];
}

void Sessions::caught_up(Duration by, Instant now) {
    caught_up_at_ = now + by;
    for (auto& [member, session] : sessions_) {
        session.session.age.caught_up(by);
        session.session.lead.caught_up();
    }
}

void Sessions::left(const gossip::MemberId& member, Instant now) {
    const auto found = sessions_.find(member);
    if (found != sessions_.end()) {
        found->second.left_at = now;
        leavers_.emplace_back(now, member);
    }
}

void Sessions::tick(Instant now) {
    while (!leavers_.empty() && now - leavers_.front().first > kLateHandover) {
        sessions_.erase(leavers_.front().second);
        leavers_.pop_front();
    }
}

}  // namespace weir::membership
