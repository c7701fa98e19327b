#include "sync/silence.h"

#include <algorithm>
#include <chrono>

#include "base/assert.h"
#include "sync/reckoning.h"

namespace weir::sync {
namespace {

/// A second hint is one that comes at least so long after the first.
constexpr Duration kSecondHint = std::chrono::microseconds(50);
/// Longer than any cell of a member outlives its last packet, or the time for which it is held.
constexpr Duration kForgetAfter = std::chrono::minutes(2);
/// When so many are silent, each further one is weighed with the next tick.
constexpr std::size_t kWeighedAtOnce = 64;

}  // namespace

MemberNumber Silence::number(const gossip::MemberId& member, Instant now) {
    const auto known = numbers_.find(member);
    if (known != numbers_.end()) {
        return known->second;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<MemberNumber>(members_.size()));
        members_.emplace_back();
    }
    const MemberNumber number = free_.back();
    free_.pop_back();
    WEIR_ASSERT(number < members_.size());
    members_[number] = Known{};
    members_[number].id = member;
    members_[number].last_packet = members_[number].joined = now;
    // A process that restarts at its address is the member that it was.
    for (auto each = numbers_.lower_bound({member.address, 0});
         each != numbers_.end() && each->first.address == member.address; ++each) {
        members_[number].joined = std::min(members_[number].joined, members_[each->second].joined);
    }
    numbers_.emplace(member, number);
    WEIR_ASSERT(numbers_.size() + free_.size() == members_.size());
    weigh_soon();
    return number;
}

void Silence::heard(MemberNumber number, Instant now) {
    Known& member = members_[number];
    outdated_ = outdated_ || member.unreachable || member.dead || member.silent;
    if (member.dead) {
        std::erase(given_up_, number);
    }
    member.last_packet = now;
    member.unreachable = false;
    member.dead = member.departed = false;
    member.questioned = {};
    if (!member.silent) {
        return;
    }
    member.silent = false;
    member.split = false;
    std::erase(silent_, number);
    WEIR_ASSERT(silent_.size() <= numbers_.size());
}

void Silence::gone(const gossip::MemberId& id, Instant now) {
    const auto known = numbers_.find(id);
    if (known == numbers_.end()) {
        return;
    }
    Known& member = members_[known->second];
    if (!member.gone) {
        member.gone_at = now;
    }
    member.gone = true;
    weigh_soon();
}

void Silence::died(const gossip::MemberId& id, Instant now) {
    if (const auto known = numbers_.find(id); known != numbers_.end()) {
        if (!members_[known->second].dead) {
            given_up_.push_back(known->second);
        }
        WEIR_ASSERT(given_up_.size() <= numbers_.size());
        members_[known->second].dead = true;
        members_[known->second].died_at = now;
        weigh_soon();
    }
}

void Silence::joined(const gossip::MemberId& id, bool serves) {
    for (auto each = numbers_.lower_bound({id.address, 0});
         each != numbers_.end() && each->first.address == id.address; ++each) {
        members_[each->second].succeeded = each->first.incarnation != id.incarnation;
    }
    if (const auto known = numbers_.find(id); known != numbers_.end()) {
        members_[known->second].serves = serves;
        WEIR_ASSERT(!members_[known->second].succeeded);
    }
    weigh_soon();
}

void Silence::suspected(const gossip::MemberId& id, bool suspected, Instant now) {
    if (const auto known = numbers_.find(id); known != numbers_.end()) {
        std::optional<Instant>& at = members_[known->second].suspected_at;
        at = suspected ? std::optional(now) : std::nullopt;
        weigh_soon();
    }
}

Silence::Hint Silence::nobody_there(MemberNumber number, Instant now) {
    Known& member = members_[number];
    if (member.unreachable || member.gone) {
        return Hint::known;
    }
    if (member.questioned == Instant{}) {
        member.questioned = now;
        return Hint::ask;
    }
    // What came together with the first one says nothing more.
    if (now - member.questioned < kSecondHint) {
        return Hint::known;
    }
    member.unreachable = true;
    ++statistics_.unreachable;
    weigh_soon();
    return Hint::given_up;
}

Duration Silence::silent_after(Duration keep_alive) const {
    return sync::silent_after(settings_, keep_alive);
}

Presence Silence::judge(MemberNumber number, Duration age, Duration keep_alive, Duration hold,
                        Instant now) {
    Known& member = members_[number];
    if (member.gone) {
        return Presence::gone;
    }
    const Duration patience = silent_after(keep_alive);
    if (age <= patience && (!member.unreachable || age == Duration::zero())) {
        return Presence::heard;
    }
    // The member speaks, only not of this limit: no split. It may have many to speak of.
    if (now - member.last_packet <= patience && !member.unreachable) {
        return age <= unmentioned_after(settings_, keep_alive) ? Presence::heard
                                                               : Presence::unmentioned;
    }
    if (!member.silent) {
        silent_.push_back(number);
        WEIR_ASSERT(silent_.size() <= numbers_.size());
        fall_silent(member, keep_alive, now);
    }
    if (hold_left(number, hold, now) <= Duration::zero()) {
        return Presence::fading;
    }
    member.held_at = now;
    return Presence::held;
}

void Silence::fall_silent(Known& member, Duration keep_alive, Instant now) {
    WEIR_ASSERT(!member.silent && !member.gone);
    member.silent = true;
    member.keep_alive = keep_alive;
    ++statistics_.silent_origins;
    weigh_soon();
    if (silent_.size() <= kWeighedAtOnce) {
        weigh(now);
    }
    // A death that the member's host confirms is no split, however many die at once. But a firewall
    // that rejects everybody's datagrams looks alike: somebody has to be heard still.
    const bool somebody = anybody_heard(now);
    if (somebody && member.unreachable) {
        return;
    }
    // The last one that was heard: we may be the ones who are cut off.
    if (!somebody) {
        hold(member, now);
    }
    for (const MemberNumber number : silent_) {
        Known& other = members_[number];
        WEIR_ASSERT(other.silent || &other == &member);
        if (&other == &member || other.gone || (somebody && other.unreachable)) {
            continue;
        }
        const Duration apart = std::max(member.last_packet, other.last_packet) -
                               std::min(member.last_packet, other.last_packet);
        if (apart > settings_.split_window + std::min(keep_alive, other.keep_alive)) {
            continue;
        }
        hold(member, now);
        hold(other, now);
    }
}

/// Whether a live member is left that is not silent. Members that say nothing about limits are
/// known to live by membership.
bool Silence::anybody_heard(Instant now) const {
    const Instant heard = std::max(last_heard_.value_or(now), awake_since_);
    if (now - heard > silent_after(settings_.keep_alive)) {
        return false;
    }
    const auto silent = std::count_if(silent_.begin(), silent_.end(), [this](MemberNumber number) {
        const Known& member = members_[number];
        return !member.gone && !member.dead && !member.succeeded;
    });
    return live_others_ > static_cast<std::size_t>(silent);
}

void Silence::hold(Known& member, Instant now) {
    if (member.split) {
        return;
    }
    WEIR_ASSERT(member.silent);
    member.split = true;
    member.held_since = now;
    statistics_.splits += settings_.hold > Duration::zero() ? 1U : 0U;
}

Duration Silence::hold_left(MemberNumber number, Duration hold, Instant now) const {
    const Known& member = members_[number];
    if (!member.split) {
        return Duration::zero();
    }
    // A share that was given back is not taken again when the last of the others falls silent.
    const Instant usual = member.held_since + hold;
    const bool over = side_.alone && usual <= alone_since_;
    Instant end = over ? usual : member.held_since + side_.hold_time(settings_, hold);
    // Not before all are missed who are to be missed: else a smaller side would take itself for the
    // larger one. And who was only late is heard again by then.
    if (side_.majority) {
        end = std::min(end, member.last_packet + silent_after(settings_.keep_alive));
    }
    return std::max(Duration::zero(), end - now);
}

std::size_t Silence::count_held(Instant now) const {
    return static_cast<std::size_t>(
        std::count_if(given_up_.begin(), given_up_.end(),
                      [&](MemberNumber number) { return is_held(number, now); }));
}

bool Silence::is_held(MemberNumber number, Instant now) const {
    const Known& member = members_[number];
    if (!member.dead || member.gone || member.succeeded || !member.serves) {
        return false;
    }
    if (member.split) {
        return hold_left(number, settings_.hold, now) > Duration::zero();
    }
    // Nobody here owned anything that it used, so no owner has missed it.
    const Duration hold = side_.hold_time(settings_, settings_.hold);
    return !member.silent && !side_.majority && !member.unreachable &&
           member.last_packet + hold > now;
}

bool Silence::has_share(MemberNumber number, Instant now) const {
    const Known& member = members_[number];
    return !member.gone && !member.succeeded && (!member.dead || is_held(number, now));
}

void Silence::forget_old(Instant now) {
    for (auto each = numbers_.begin(); each != numbers_.end();) {
        const Known& member = members_[each->second];
        const bool old = member.gone && now - member.gone_at > kForgetAfter;
        if (!member.departed || (!old && !long_silent(member, now))) {
            ++each;
            continue;
        }
        std::erase(silent_, each->second);
        std::erase(given_up_, each->second);
        free_.push_back(each->second);
        each = numbers_.erase(each);
        WEIR_ASSERT(free_.size() <= members_.size());
    }
}

bool Silence::long_silent(const Known& member, Instant now) {
    return (member.gone || member.dead || member.succeeded) &&
           now - member.last_packet > 10 * kForgetAfter && now - member.held_at > kForgetAfter;
}

std::vector<MemberNumber> Silence::take_departed(Instant now) {
    const Duration kept = cell_memory(settings_);
    std::vector<MemberNumber> departed;
    for (const auto& [id, number] : numbers_) {
        Known& member = members_[number];
        const bool left =
            (member.gone && now - member.gone_at > kept) ||
            (member.dead && now - member.last_packet > kept && now - member.held_at > kHeldLately);
        if (!member.departed && (left || long_silent(member, now))) {
            member.departed = true;
            WEIR_ASSERT(member.gone || member.dead || member.succeeded);
            departed.push_back(number);
        }
    }
    return departed;
}

void Silence::restart(Instant now) {
    silent_.clear();
    for (const auto& [id, number] : numbers_) {
        Known& member = members_[number];
        member.silent = false;
        member.split = false;
        member.unreachable = false;
        member.questioned = {};
        member.suspected_at.reset();
        member.last_packet = now;
    }
    awake_since_ = now;
    minority_at_.reset();
    weigh_soon();
}

std::vector<PeerRefusals> Silence::refusals() const {
    constexpr std::size_t kShown = 16;
    std::map<Endpoint, std::uint64_t> counts;
    for (const auto& [id, number] : numbers_) {
        if (members_[number].refusals > 0) {
            counts[id.address] += members_[number].refusals;
        }
    }
    std::vector<PeerRefusals> worst;
    worst.reserve(counts.size());
    for (const auto& [peer, count] : counts) {
        worst.push_back({peer, count});
    }
    std::stable_sort(worst.begin(), worst.end(),
                     [](const auto& one, const auto& other) { return one.count > other.count; });
    worst.resize(std::min(worst.size(), kShown));
    return worst;
}

std::uint64_t Silence::refusals(const gossip::MemberId& member) const {
    const auto known = numbers_.find(member);
    return known == numbers_.end() ? 0 : members_[known->second].refusals;
}

}  // namespace weir::sync
