#include "sync/allowance_owner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "sync/allowance_division.h"
#include "sync/telling_number.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// All limits are looked at in the course of so many ticks.
constexpr std::size_t kTicksPerRound = 10;
/// A limit with many origins is divided at most so often.
constexpr Duration kDivideEvery = 20ms;
constexpr std::size_t kFewOrigins = 16;
/// A grant that was not confirmed is sent again after so long.
constexpr Duration kGrantAgain = 200ms;
/// What cannot be divided equally goes to others after so long.
constexpr Duration kTurn = 1s;

bool at_rest(const AllowanceReport& said) { return said.wanted == 0 && said.in_flight == 0; }

/// Grants one request to an origin at rest that may admit none. True if it was so.
bool begins_with_one(AllowanceOwner::Origin& origin) {
    const bool none = origin.reported && at_rest(origin.said) && origin.granted == 0;
    if (none) {
        origin.granted = 1;
        origin.most_granted = std::max<std::uint64_t>(origin.most_granted, 1);
    }
    return none;
}

/// How much an origin will still use when it has confirmed the newest grant.
std::uint64_t stays_of(const AllowanceOwner::Origin& origin) {
    if (!origin.reported || (at_rest(origin.said) && origin.granted <= 1)) {
        return 0;
    }
    return std::max(origin.granted, origin.said.in_flight);
}

}  // namespace

struct AllowanceOwner::Plan {
    struct Row {
        const gossip::MemberId* id;
        Origin* origin;
        std::uint64_t part;     // that it should have ...
        std::uint64_t spare;    // and, as long as others do not want it, in addition
        std::uint64_t counted;  // that it may use by now
        bool changed = false;
    };
    std::vector<Row> rows;
    std::uint64_t free = 0;    // nobody may use it
    std::uint64_t over = 0;    // more than there is may be used
    std::uint64_t coming = 0;  // will be free when origins have confirmed
    std::uint64_t missing = 0;
    std::size_t turn = 0;
};

// --- which limits --------------------------------------------------------------------------------

void AllowanceOwner::tick(Instant now, std::uint32_t members, std::uint32_t held,
                          const gossip::MemberId& self, const membership::Owners& owners,
                          AllowanceSink& sink) {
    held_ = held;
    self_ = self;
    if (members_ <= 1 && members > 1) {
        since_.fill(now);  // until now there was nobody to learn from
    }
    members_ = std::max(1U, members);
    follow_owners(now, self, owners);
    const std::size_t count = (limits_.size() + kTicksPerRound - 1) / kTicksPerRound;
    for (std::size_t i = 0; i < count && !limits_.empty(); ++i) {
        hand_ = hand_ < limits_.size() ? hand_ : 0;
        Limit& limit = limits_[hand_];
        const bool first = is_first(limit.key);
        if (first) {
            divide_anew(limit, now, sink);
        }
        if (first && !limit.origins.empty()) {
            ++hand_;
        } else {
            remove(static_cast<std::uint32_t>(hand_));
        }
    }
}

void AllowanceOwner::follow_owners(Instant now, const gossip::MemberId& self,
                                   const membership::Owners& owners) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        const membership::OwnerList& list = owners.of(shard);
        const std::uint16_t bit = membership::bit_of(shard);
        if (list.empty() || list.front() != self) {
            first_ = static_cast<std::uint16_t>(first_ & ~bit);
            continue;
        }
        if ((first_ & bit) == 0) {
            first_ = static_cast<std::uint16_t>(first_ | bit);
            since_[shard] = now;
        }
        if (held_ == 0) {
            split_ = static_cast<std::uint16_t>(split_ & ~bit);
        } else if (now - since_[shard] < kLearn) {
            split_ = static_cast<std::uint16_t>(split_ | bit);
        }
    }
}

bool AllowanceOwner::is_first(const LimitKey& key) const {
    return (first_ & membership::bit_of(membership::shard_of(key.quota))) != 0;
}

bool AllowanceOwner::learns(const LimitKey& key, Instant now) const {
    return members_ > 1 && now - since_[membership::shard_of(key.quota)] < kLearn;
}

AllowanceOwner::Limit* AllowanceOwner::find_or_add(const LimitKey& key) {
    WEIR_ASSERT(by_key_.size() == limits_.size());
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        return &limits_[known->second];
    }
    if (limits_.size() >= kMostLimits) {
        ++statistics_.dropped_entries;
        return nullptr;
    }
    by_key_.emplace(key, static_cast<std::uint32_t>(limits_.size()));
    Limit& limit = limits_.emplace_back();
    limit.key = key;
    return &limit;
}

void AllowanceOwner::remove(std::uint32_t slot) {
    WEIR_ASSERT(slot < limits_.size() && origins_ >= limits_[slot].origins.size());
    origins_ -= limits_[slot].origins.size();
    by_key_.erase(limits_[slot].key);
    if (slot + 1 != limits_.size()) {
        limits_[slot] = std::move(limits_.back());
        by_key_[limits_[slot].key] = slot;
    }
    limits_.pop_back();
}

void AllowanceOwner::stopped(Instant now) {
    limits_.clear();
    by_key_.clear();
    origins_ = 0;
    since_.fill(now);
}

// --- who may use how much ------------------------------------------------------------------------

std::uint64_t AllowanceOwner::equal_part(const Limit& limit) const { return limit.most / members_; }

std::uint64_t AllowanceOwner::counted(const Limit& limit, const Origin& origin) const {
    if (!origin.reported) {
        return equal_part(limit);
    }
    const std::uint64_t most =
        std::max({origin.said.allowance, origin.most_granted, origin.said.in_flight});
    // Who is at rest may begin with one request, and is counted when it says so.
    return at_rest(origin.said) && most <= 1 ? 0 : most;
}

/// Forgets those that have been silent for too long, and those without a part that are gone.
void AllowanceOwner::judge(Limit& limit, Instant now) {
    for (auto each = limit.origins.begin(); each != limit.origins.end();) {
        Origin& origin = each->second;
        const bool rests = origin.reported && at_rest(origin.said);
        const Duration keep_alive =
            rests ? AllowanceOrigin::kKeepAliveAtRest : AllowanceOrigin::kKeepAlive;
        const Presence presence =
            silence_.judge(origin.number, now - origin.heard, keep_alive, settings_.hold, now);
        origin.held = presence == Presence::held;
        bool keeps = presence == Presence::heard || (origin.held && origin.reported);
        if (rests || !origin.reported) {
            keeps = keeps && silence_.has_share(origin.number, now);
        }
        WEIR_ASSERT(origins_ > 0);
        origins_ -= keeps ? 0U : 1U;
        each = keeps ? std::next(each) : limit.origins.erase(each);
    }
}

/// Divides the limit by what each origin wants.
AllowanceOwner::Plan AllowanceOwner::make_plan(Limit& limit, Instant now) const {
    Plan plan;
    std::vector<std::uint64_t> wanted;
    std::uint64_t used = 0;
    std::uint64_t held = 0;  // by members that cannot be asked
    std::uint64_t sum = 0;
    std::size_t known = 0;
    for (auto& [id, origin] : limit.origins) {
        plan.rows.push_back({&id, &origin, 0, 0, counted(limit, origin)});
        wanted.push_back(origin.reported && !origin.held ? origin.said.wanted : 0);
        used += plan.rows.back().counted;
        held += origin.held ? plan.rows.back().counted : 0;
        sum += wanted.back();
        known += silence_.has_share(origin.number, now) ? 1U : 0U;
    }
    WEIR_ASSERT(known <= plan.rows.size() && held <= used);
    const std::uint64_t unknown = members_ - std::min<std::size_t>(members_, known);
    used += unknown * equal_part(limit);
    const membership::Shard shard = membership::shard_of(limit.key.quota);
    if (held_ == 0 || (split_ & membership::bit_of(shard)) == 0) {
        limit.ceiling.reset();
    } else if (!limit.ceiling && !learns(limit.key, now)) {
        limit.ceiling = used;
    }
    const std::uint64_t most = std::min(limit.most, limit.ceiling.value_or(limit.most));
    const std::uint64_t there = most - std::min(most, held);
    limit.scarce = sum > there;
    plan.turn = static_cast<std::size_t>(now.time_since_epoch() / kTurn);
    const std::vector<std::uint64_t> parts = divide(there, wanted, plan.turn);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Plan::Row& row = plan.rows[i];
        row.part = row.origin->held ? row.origin->granted : parts[i];
        row.spare = wanted[i] > 0 ? (there - std::min(there, sum)) / members_ : 0;
    }
    plan.free = most - std::min(most, used);
    plan.over = used - std::min(most, used);
    WEIR_ASSERT(plan.free == 0 || plan.over == 0);
    return plan;
}

/// Grants what is free to those that lack it.
void AllowanceOwner::give(Plan& plan) {
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        Plan::Row& row = plan.rows[(plan.turn + i) % plan.rows.size()];
        Origin& origin = *row.origin;
        if (!origin.reported || row.part <= origin.granted) {
            row.changed = begins_with_one(origin);
            continue;
        }
        // What it may use already, because a smaller grant is on its way, costs nothing.
        const std::uint64_t most = std::max(origin.granted, row.counted) + plan.free;
        const std::uint64_t granted = std::min(row.part + row.spare, most);
        if (granted > origin.granted) {
            plan.free -= granted - std::min(granted, row.counted);
            origin.granted = granted;
            origin.most_granted = std::max(origin.most_granted, granted);
            row.counted = std::max(row.counted, granted);
            row.changed = true;
            WEIR_ASSERT(origin.most_granted <= row.counted);
        }
        plan.missing += row.part - std::min(row.part, origin.granted);
    }
}

/// Takes what is missing from those that have more than they should.
void AllowanceOwner::take(Plan& plan) {
    for (const Plan::Row& row : plan.rows) {
        plan.coming += row.counted - std::min(row.counted, stays_of(*row.origin));
    }
    plan.missing += plan.over;
    for (Plan::Row& row : plan.rows) {
        Origin& origin = *row.origin;
        const std::uint64_t least = at_rest(origin.said) ? 1 : row.part;
        if (plan.missing <= plan.coming || !origin.reported || origin.granted <= least) {
            continue;
        }
        const std::uint64_t cut = std::min(origin.granted - least, plan.missing - plan.coming);
        const std::uint64_t before = stays_of(origin);
        origin.granted -= cut;
        plan.coming += before - std::min(before, stays_of(origin));
        row.changed = true;
    }
}

void AllowanceOwner::divide_anew(Limit& limit, Instant now, AllowanceSink& sink) {
    limit.planned = now;
    judge(limit, now);
    Plan plan = make_plan(limit, now);
    // Members that have said nothing, as one that has just started, have hardly anything in flight
    // and can give their equal parts back at once. The requests of others have to end.
    const std::uint64_t asked =
        limit.scarce && plan.over > 0 ? ask_others(limit, plan.over, now, sink) : 0;
    if (learns(limit.key, now)) {
        return;
    }
    give(plan);
    plan.coming += asked;
    take(plan);
    for (const Plan::Row& row : plan.rows) {
        const bool unconfirmed = row.origin->granted != row.origin->said.allowance;
        if (row.changed || (unconfirmed && now - row.origin->told >= kGrantAgain)) {
            send(limit, *row.id, *row.origin, now, sink);
        }
    }
    if (plan.missing > plan.coming) {
        (void)ask_others(limit, plan.missing - plan.coming, now, sink);
    }
}

/// Asks as many of the members that have said nothing for their equal parts as it takes; while it
/// learns only this one, because others may be about to tell what they have. Returns how much they
/// give.
std::uint64_t AllowanceOwner::ask_others(Limit& limit, std::uint64_t missing, Instant now,
                                         AllowanceSink& sink) {
    const std::uint64_t each = equal_part(limit);
    const bool learning = learns(limit.key, now);
    std::uint64_t given = 0;
    if (each == 0 || limit.origins.size() >= members_) {
        return given;
    }
    for (const gossip::MemberId& id : live_()) {
        if (missing <= given || origins_ >= kMostOrigins) {
            break;
        }
        if (learning && id != self_) {
            continue;
        }
        const auto [place, added] = limit.origins.try_emplace(id);
        if (!added) {
            continue;
        }
        ++origins_;
        Origin& origin = place->second;
        origin.number = silence_.number(id, now);
        origin.granted = 1;
        origin.heard = now;
        given += each;
        send(limit, id, origin, now, sink);
    }
    return given;
}

// --- reports and grants --------------------------------------------------------------------------

void AllowanceOwner::receive(const gossip::MemberId& from, MemberNumber number,
                             const AllowanceReport& report, Instant now, AllowanceSink& sink) {
    if (!is_first(report.key)) {
        ++statistics_.refused_not_owner;
        return;
    }
    if (silence_.is_gone(number)) {
        return;
    }
    Limit* const limit = find_or_add(report.key);
    if (limit == nullptr || (origins_ >= kMostOrigins && !limit->origins.contains(from))) {
        ++statistics_.dropped_entries;
        return;
    }
    const auto [place, added] = limit->origins.try_emplace(from);
    origins_ += added ? 1U : 0U;
    Origin& origin = place->second;
    if (origin.reported && !is_older(origin.said.number, report.number)) {
        return;  // doubled, or overtaken
    }
    origin.number = number;
    origin.reported = true;
    origin.said = report;
    origin.granted = origin.most_granted = report.allowance;
    origin.heard = now;
    origin.told = {};
    limit->most = report.most > 0 ? report.most : limit->most;
    if (report.wanted > equal_part(*limit) + 1 ||
        (!report.told && report.wanted > report.allowance)) {
        limit->busy = now;
    }
    const bool calm = now - limit->busy >= kCalm && !learns(limit->key, now);
    if (calm) {
        origin.granted = std::min(origin.granted, equal_part(*limit) + 1);
    }
    if (limit->origins.size() <= kFewOrigins || now - limit->planned >= kDivideEvery) {
        divide_anew(*limit, now, sink);
    }
    if (calm ? all_have_equal_parts(*limit) : !report.told && learns(limit->key, now)) {
        limit->origins.erase(from);
        --origins_;
        ++statistics_.allowances_granted;
        sink.send_grant(from, {.key = report.key, .number = report.number});
    } else if (origin.told != now) {
        send(*limit, from, origin, now, sink);
    }
}

/// Whether no origin may use more than it could without having been told. Then all may forget what
/// they were told; before that they give back what is above it.
bool AllowanceOwner::all_have_equal_parts(const Limit& limit) const {
    const std::uint64_t part = equal_part(limit) + 1;
    return std::all_of(limit.origins.begin(), limit.origins.end(),
                       [&](const auto& one) { return counted(limit, one.second) <= part; });
}

void AllowanceOwner::send(const Limit& limit, const gossip::MemberId& to, Origin& origin,
                          Instant now, AllowanceSink& sink) {
    WEIR_ASSERT(limit.origins.contains(to));
    origin.told = now;
    ++statistics_.allowances_granted;
    sink.send_grant(to, {.key = limit.key,
                         .number = origin.said.number,
                         .told = true,
                         .scarce = limit.scarce,
                         .allowance = origin.granted,
                         .origins = static_cast<std::uint32_t>(limit.origins.size())});
}

}  // namespace weir::sync
