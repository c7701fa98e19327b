#include "membership/member_table.h"

#include <algorithm>
#include <map>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::membership {

std::uint64_t member_hash(const gossip::MemberId& id, MemberFlags flags) {
    std::uint64_t hash = mix(id.incarnation ^ id.address.port);
    for (std::uint8_t byte : id.address.address) {
        hash = mix(hash + byte);
    }
    return mix(hash + (flags.leaving ? 1 : 0) + (flags.anchor ? 2 : 0));
}

const Peer* MemberTable::find(const gossip::MemberId& id) const {
    const Peer* const found = find(id.address);
    return found != nullptr && found->member.id == id ? found : nullptr;
}

const Peer* MemberTable::find(const Endpoint& address) const {
    const auto found = members_.find(address);
    return found != members_.end() ? &found->second : nullptr;
}

const Peer* MemberTable::first() const {
    return members_.empty() ? nullptr : &members_.begin()->second;
}

const Peer* MemberTable::next(const Endpoint& address) const {
    const auto found = members_.upper_bound(address);
    return found != members_.end() ? &found->second : nullptr;
}

std::vector<Member> MemberTable::all() const {
    std::vector<Member> result;
    result.reserve(members_.size());
    for (const auto& [address, known] : members_) {
        result.push_back(known.member);
    }
    return result;
}

std::vector<gossip::MemberId> MemberTable::pick(std::size_t count, const Endpoint& except,
                                                Random& random) const {
    const auto excepted = members_.find(except);
    const std::size_t gap = members_.index_of(excepted);
    const std::size_t size = members_.size() - (excepted != members_.end() ? 1 : 0);
    count = std::min(count, size);
    // The first steps of a shuffle. `moved` has the few places that no longer hold their own
    // number.
    std::map<std::size_t, std::size_t> moved;
    const auto at = [&moved](std::size_t place) {
        const auto found = moved.find(place);
        return found != moved.end() ? found->second : place;
    };
    std::vector<gossip::MemberId> picked;
    picked.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = i + random.below(size - i);
        const std::size_t index = at(place);
        WEIR_ASSERT(index < size);
        moved[place] = at(i);
        picked.push_back(members_.nth(index < gap ? index : index + 1)->second.member.id);
    }
    return picked;
}

void MemberTable::add(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter,
                      Instant now) {
    WEIR_ASSERT(!full());
    WEIR_ASSERT(!contains(id.address));
    WEIR_ASSERT(id.incarnation != 0);
    members_[id.address] =
        Peer{{id, MemberState::alive, flags, counter, now, now, Duration::zero()}, now, {}};
    hash_ ^= member_hash(id, flags);
    anchors_ += flags.anchor ? 1U : 0U;
    WEIR_ASSERT(anchors_ <= members_.size());
}

Member MemberTable::remove(const gossip::MemberId& id) {
    const auto found = members_.find(id.address);
    WEIR_ASSERT(found != members_.end() && found->second.member.id == id);
    const Member member = found->second.member;
    hash_ ^= member_hash(id, member.flags);
    const bool suspected = suspects_.erase(id.address) > 0;
    WEIR_ASSERT(suspected == found->second.suspicion.has_value());
    members_.erase(found);
    WEIR_ASSERT(!member.flags.anchor || anchors_ > 0);
    anchors_ -= member.flags.anchor ? 1U : 0U;
    WEIR_ASSERT(!members_.empty() || (hash_ == 0 && anchors_ == 0));
    return member;
}

Peer& MemberTable::peer(const gossip::MemberId& id) {
    const auto found = members_.find(id.address);
    WEIR_ASSERT(found != members_.end() && found->second.member.id == id);
    return found->second;
}

void MemberTable::heard(const gossip::MemberId& id, Instant now) {
    peer(id).member.last_heard = now;
}

void MemberTable::set_round_trip(const gossip::MemberId& id, Duration round_trip) {
    peer(id).member.round_trip = round_trip;
}

void MemberTable::set_counter(const gossip::MemberId& id, std::uint64_t counter) {
    Member& member = peer(id).member;
    WEIR_ASSERT(counter >= member.counter);
    member.counter = counter;
}

void MemberTable::set_flags(const gossip::MemberId& id, MemberFlags flags) {
    Member& member = peer(id).member;
    hash_ ^= member_hash(id, member.flags) ^ member_hash(id, flags);
    anchors_ += flags.anchor ? 1U : 0U;
    WEIR_ASSERT(!member.flags.anchor || anchors_ > 0);
    anchors_ -= member.flags.anchor ? 1U : 0U;
    member.flags = flags;
}

void MemberTable::suspect(const gossip::MemberId& id, std::uint64_t counter, gossip::Incarnation by,
                          const MembershipSettings& settings, Instant now) {
    Peer& known = peer(id);
    WEIR_ASSERT(!known.suspicion);
    WEIR_ASSERT(counter >= known.member.counter);
    const bool first = suspects_.insert(id.address).second;
    WEIR_ASSERT(first);
    known.suspicion.emplace(settings, members_.size() + 1, by, now);
    known.member.state = MemberState::suspect;
    known.member.since = now;
    known.member.counter = counter;
}

Suspicion& MemberTable::suspicion(const gossip::MemberId& id) {
    Peer& known = peer(id);
    WEIR_ASSERT(known.suspicion.has_value());
    WEIR_ASSERT(known.member.state == MemberState::suspect);
    return *known.suspicion;
}

bool MemberTable::confirm(const gossip::MemberId& id, gossip::Incarnation by) {
    return suspicion(id).confirm(by);
}

void MemberTable::confirm_death(const gossip::MemberId& id) { suspicion(id).confirm_death(); }

void MemberTable::restart_suspicion(const gossip::MemberId& id, Instant now) {
    suspicion(id).restart(now);
}

void MemberTable::end_suspicion(const gossip::MemberId& id) {
    Peer& known = peer(id);
    WEIR_ASSERT(known.member.state == MemberState::suspect);
    known.suspicion.reset();
    known.member.state = MemberState::alive;
    const bool listed = suspects_.erase(id.address) > 0;
    WEIR_ASSERT(listed);
}

void MemberTable::restart_suspicions(Instant now) {
    for (const Endpoint& address : suspects_) {
        suspicion(members_.at(address).member.id).restart(now);
    }
}

}  // namespace weir::membership
