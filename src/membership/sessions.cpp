#include "membership/sessions.h"

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
        return {{}, gossip::Rejection::clock};
    }
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
