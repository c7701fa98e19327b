#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "sync/allowance_division.h"
#include "sync/window_owner.h"

// How the first owner of a limit of windows divides what is left of a window; see window_owner.h.

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// What cannot be divided equally goes to another member after so long at least, and not before
/// that one has asked so often for more. Where a balancer serves the members in turn, the one that
/// holds the last request of a window uses it before another has asked twice; but who has just
/// admitted something asks three times for more of it.
constexpr Duration kWindowTurn = 1s;
constexpr std::uint32_t kAsksForTurn = 4;

/// So many changes of the number of members are remembered.
constexpr std::size_t kMostChanges = 4096;

/// By how much a window of this length can be longer: a day when clocks are changed, a month than
/// the mean one.
std::int64_t longer_by(std::int64_t length) {
    constexpr std::int64_t kHour = 3600;
    constexpr std::int64_t kDay = 24 * kHour;
    return length >= 28 * kDay ? kDay : length >= 2 * kHour ? kHour : 0;
}

/// The sum of weights, each of which can be false and huge.
std::uint64_t together(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
    return std::min(kHuge, std::min(a, kHuge) + std::min(b, kHuge));
}

std::uint64_t less_or_zero(std::uint64_t value, std::uint64_t less) {
    return value - std::min(value, less);
}

/// How much an origin may still admit in all when it has confirmed the newest grant.
std::uint64_t stays_with(std::uint64_t granted, const WindowReport& said) {
    return std::max(granted, said.admitted);
}

}  // namespace

struct WindowOwner::Plan {
    struct Entry {
        const gossip::MemberId* id;
        Row* row;
        std::uint64_t part;     // that it should have
        std::uint64_t counted;  // that it may admit by now
        bool divides;           // it can be asked, and has reported
        bool changed = false;
    };
    std::vector<Entry> entries;
    std::uint64_t free = 0;    // nobody may admit it
    std::uint64_t over = 0;    // more than there is may be admitted
    std::uint64_t coming = 0;  // will be free when origins have confirmed
    std::uint64_t missing = 0;
    std::uint64_t spare = 0;  // that each may have in addition, as long as others do not want it
};

std::uint64_t WindowOwner::counted(const Row& row, std::uint64_t silent) {
    return row.reported ? std::max({row.said.allowance, row.most_granted, row.said.admitted})
                        : silent;
}

/// Remembers how many members there were, for as long as a window lasts.
void WindowOwner::note_members(std::uint32_t members, Instant now) {
    if (!changes_.empty() && changes_.back().members == members) {
        return;
    }
    changes_.push_back({now, members});
    while (
        changes_.size() > kMostChanges ||
        (changes_.size() > 1 && now - changes_[1].when > std::chrono::seconds(kFarthestWindow))) {
        changes_.pop_front();
    }
}

/// How much a member may admit at most that has said nothing: an equal part of the window for the
/// smallest number of members that there was since it began. Of a time before this owner, anything.
std::uint64_t WindowOwner::silent_part(const Limit& limit, Instant now) const {
    const auto length = static_cast<std::int64_t>(limit.key.period_ms / 1000);
    const std::int64_t begin = std::int64_t{limit.end} - length - longer_by(length) - kClocksDiffer;
    const auto age = std::chrono::seconds(second_ - begin);
    std::uint32_t fewest = members_;
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
        fewest = std::min(fewest, change->members);
        if (now - change->when >= age) {
            return std::max<std::uint64_t>(1, limit.most / fewest);
        }
    }
    return std::max<std::uint64_t>(1, limit.most);
}

/// The member may ask for more. If another one has had the turn for long enough, and did not need
/// it while this one did, it is this one's turn.
void WindowOwner::take_turn(Limit& limit, Row& row, Instant now) {
    if (row.said.wanted <= row.said.allowance || row.number == limit.turn) {
        return;
    }
    ++row.asked;
    if (row.asked < kAsksForTurn || now - limit.turned < kWindowTurn) {
        return;
    }
    limit.turn = row.number;
    limit.turned = now;
    for (auto& [id, each] : limit.rows) {
        each.asked = 0;
    }
}

/// Divides what is left of the window by what each origin wants.
WindowOwner::Plan WindowOwner::make_plan(Limit& limit, Instant now) const {
    Plan plan;
    const std::uint64_t silent = silent_part(limit, now);
    std::vector<std::uint64_t> wanted;
    std::uint64_t admitted = limit.gone.admitted();  // or kept for members that cannot be heard
    for (const auto& [run, held] : limit.held) {
        const GoneRuns::GoneRun* const count = limit.gone.find(run);
        WEIR_ASSERT(count != nullptr);
        admitted = together(admitted, less_or_zero(held.allowed, count->admitted));
    }
    std::uint64_t used = admitted;
    std::uint64_t sum = 0;
    // Those that come first get what cannot be divided equally.
    const auto first = std::find_if(limit.rows.begin(), limit.rows.end(), [&](const auto& each) {
        return each.second.number == limit.turn;
    });
    auto next = first;
    for (std::size_t left = limit.rows.size(); left > 0; --left) {
        next = next == limit.rows.end() ? limit.rows.begin() : next;
        auto& [id, row] = *next++;
        const bool divides = row.reported;
        plan.entries.push_back({&id, &row, row.granted, counted(row, silent), divides});
        wanted.push_back(divides ? less_or_zero(row.said.wanted, row.said.admitted) : 0);
        used = together(used, plan.entries.back().counted);
        admitted = together(admitted, row.said.admitted);
        sum = together(sum, wanted.back());
    }
    const std::uint64_t unknown =
        members_ - std::min<std::size_t>(members_, limit.rows.size() + limit.held.size());
    for (std::uint64_t i = 0; i < unknown && used < limit.most; ++i) {
        used = together(used, silent);
    }
    const std::uint64_t there = less_or_zero(limit.most, admitted);
    limit.scarce = sum > there;
    WEIR_ASSERT(members_ >= 1);
    plan.spare = less_or_zero(there, sum) / (2 * std::uint64_t{members_});
    const std::vector<std::uint64_t> extra = divide(there, wanted, 0);
    for (std::size_t i = 0; i < extra.size(); ++i) {
        Plan::Entry& entry = plan.entries[i];
        entry.part = entry.divides ? entry.row->said.admitted + extra[i] : entry.part;
    }
    plan.free = less_or_zero(limit.most, used);
    plan.over = less_or_zero(used, limit.most);
    WEIR_ASSERT(plan.free == 0 || plan.over == 0);
    return plan;
}

/// Grants what is free to those that lack it.
void WindowOwner::give(Plan& plan) {
    for (Plan::Entry& entry : plan.entries) {
        Row& row = *entry.row;
        if (!entry.divides || entry.part <= row.granted) {
            continue;
        }
        // What it may admit already, because a smaller grant is on its way, costs nothing.
        const std::uint64_t most = std::max(row.granted, entry.counted) + plan.free;
        const std::uint64_t granted = std::min(entry.part + plan.spare, most);
        if (granted > row.granted) {
            plan.free -= less_or_zero(granted, entry.counted);
            row.granted = granted;
            row.most_granted = std::max(row.most_granted, granted);
            entry.counted = std::max(entry.counted, granted);
            entry.changed = true;
        }
        plan.missing = together(plan.missing, less_or_zero(entry.part, row.granted));
    }
}

/// Takes what is missing from those that have more than they should.
void WindowOwner::take(Plan& plan) {
    for (const Plan::Entry& entry : plan.entries) {
        if (entry.divides) {
            plan.coming = together(
                plan.coming,
                less_or_zero(entry.counted, stays_with(entry.row->granted, entry.row->said)));
        } else {
            plan.coming = together(plan.coming, less_or_zero(entry.counted, entry.row->granted));
        }
    }
    plan.missing = together(plan.missing, plan.over);
    for (Plan::Entry& entry : plan.entries) {
        Row& row = *entry.row;
        const std::uint64_t least = entry.part + plan.spare;
        if (plan.missing <= plan.coming || !entry.divides || row.granted <= least) {
            continue;
        }
        const std::uint64_t cut = std::min(row.granted - least, plan.missing - plan.coming);
        row.granted -= cut;
        WEIR_ASSERT(row.granted >= least);
        plan.coming += cut;
        entry.changed = true;
    }
}

void WindowOwner::divide_anew(Limit& limit, Instant now, WindowSink& sink) {
    if (!is_first(limit.key) || limit.most == 0 || learns(limit, now)) {
        return;
    }
    limit.divided = now;
    Plan plan = make_plan(limit, now);
    give(plan);
    take(plan);
    for (const Plan::Entry& entry : plan.entries) {
        Row& row = *entry.row;
        const bool unconfirmed =
            row.granted < std::max(row.said.allowance, row.most_granted) || !row.reported;
        if (entry.changed || row.told == Instant{} ||
            (unconfirmed && now - row.told >= again_after(row))) {
            row.unconfirmed += unconfirmed ? 1U : 0U;
            send(limit, *entry.id, row, now, sink);
        }
    }
    if (plan.missing > plan.coming) {
        ask_others(limit, plan.missing - plan.coming, plan.spare, now, sink);
    }
}

/// Asks as many of the members that have said nothing for their equal parts as it takes. Each keeps
/// a spare part.
void WindowOwner::ask_others(Limit& limit, std::uint64_t missing, std::uint64_t spare, Instant now,
                             WindowSink& sink) {
    const std::uint64_t each = silent_part(limit, now);
    if (limit.rows.size() >= members_) {
        return;
    }
    for (const gossip::MemberId& id : live_()) {
        if (missing == 0 || rows_ >= kMostRows) {
            return;
        }
        const auto [place, added] = limit.rows.try_emplace(id);
        if (added) {
            ++rows_;
            place->second.number = silence_.number(id, now);
            place->second.granted = std::min(each, spare);
            missing -= std::min(missing, less_or_zero(each, spare));
            send(limit, id, place->second, now, sink);
        }
    }
}

void WindowOwner::send(const Limit& limit, const gossip::MemberId& to, Row& row, Instant now,
                       WindowSink& sink) {
    WEIR_ASSERT(limit.rows.contains(to));
    row.told = now;
    ++statistics_.windows_granted;
    sink.send_window_grant(to, {.key = limit.key,
                                .run = row.said.run,
                                .end = limit.end,
                                .number = row.said.number,
                                .granted = true,
                                .scarce = limit.scarce,
                                .allowance = row.granted});
}

}  // namespace weir::sync
