#include "sync/window_owner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// A limit with many origins is divided at most so often.
constexpr Duration kDivideWindowEvery = 20ms;
constexpr std::size_t kFewRows = 16;
/// A smaller grant that is not confirmed is told again after twice the time, so often.
constexpr std::uint32_t kGrantDoublings = 5;

}  // namespace

// --- which limits --------------------------------------------------------------------------------

void WindowOwner::tick(Instant now, std::int64_t second, const Sharing& fleet,
                       const gossip::MemberId& self, const membership::Owners& owners,
                       WindowSink& sink, bool moved) {
    second_ = second;
    if (!std::exchange(others_, fleet.others) && fleet.others) {
        learns_until_ = now + kLearn;  // until now there was nobody to learn from
        others_since_ = now;
    }
    const bool changed = fleet.members != members_ || std::exchange(members_changed_, false);
    members_ = std::max(1U, fleet.members);
    note_members(members_, now);
    const auto versions = owners_version_;
    if (moved) {
        follow_owners(now, self, owners);
    }
    if (changed || versions != owners_version_) {
        ++judgements_;
        limits_.for_each([&](const LimitKey&, std::uint32_t slot) { due_.add(slot, now); });
    }
    for (std::size_t looks = 0; looks < kLooksEachTick; ++looks) {
        const auto slot = due_.take(now);
        if (!slot) {
            break;
        }
        look(*slot, now, sink);
    }
}

void WindowOwner::follow_owners(Instant now, const gossip::MemberId& self,
                                const membership::Owners& owners) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        const membership::OwnerList& list = owners.of(shard);
        if (list == owners_[shard] && self == self_) {
            continue;
        }
        // As another incarnation it was given up meanwhile, and another member was the first owner.
        const bool was_first =
            self == self_ && !owners_[shard].empty() && owners_[shard].front() == self_;
        const bool first = !list.empty() && list.front() == self;
        if (first && !was_first) {
            first_since_[shard] = now;
        }
        owners_[shard] = list;
        ++owners_version_[shard];
    }
    self_ = self;
}

bool WindowOwner::is_owner(const LimitKey& key) const {
    const membership::OwnerList& list = owners_[membership::shard_of(key.quota)];
    return std::find(list.begin(), list.end(), self_) != list.end();
}

bool WindowOwner::is_first(const LimitKey& key) const {
    const membership::OwnerList& list = owners_[membership::shard_of(key.quota)];
    return !list.empty() && list.front() == self_;
}

/// Whether this owner does not know yet what the members may admit. What they said to it before it
/// became the first owner may be less than what the former one has granted since.
bool WindowOwner::learns(const Limit& limit, Instant now) const {
    if (now < learns_until_) {
        return true;
    }
    if (!others_) {
        return false;
    }
    const Instant since = first_since_[membership::shard_of(limit.key.quota)];
    if (now - since >= kLearn) {
        return false;
    }
    const auto heard = std::count_if(limit.rows.begin(), limit.rows.end(),
                                     [&](const auto& row) { return row.second.heard >= since; });
    const auto all = static_cast<std::ptrdiff_t>(limit.rows.size());
    const bool silent = heard < static_cast<std::ptrdiff_t>(members_);
    return heard < all || (silent && now - since < kLearnAtLeast);
}

std::optional<std::uint32_t> WindowOwner::find_or_add(const LimitKey& key) {
    if (const auto known = limits_.find(key)) {
        return known;
    }
    if (limits_.size() >= kMostLimits) {
        ++statistics_.dropped_entries;
        return std::nullopt;
    }
    return limits_.add(key);
}

void WindowOwner::remove(std::uint32_t slot) {
    forget_counts(limits_[slot]);
    limits_.remove(slot);
    due_.remove(slot);
}

void WindowOwner::stopped(Instant now) {
    // What was admitted stays true. Who may admit how much, others may have decided meanwhile;
    // origins tell it again until it is noted.
    if (others_) {
        learns_until_ = now + 2 * kLearn;
    }
}

// --- which window --------------------------------------------------------------------------------

void WindowOwner::forget_counts(Limit& limit) {
    WEIR_ASSERT(rows_ >= limit.rows.size() && gone_ >= limit.gone.size());
    rows_ -= limit.rows.size();
    gone_ -= limit.gone.size();
    limit.rows.clear();
    limit.gone.clear();
    limit.held.clear();
}

void WindowOwner::begin(Limit& limit, std::uint32_t end) {
    forget_counts(limit);
    WEIR_ASSERT(end != 0);
    limit.end = end;
    limit.scarce = false;
    limit.turn = 0;
}

/// Decides to which window the report belongs. False: to one that has ended.
bool WindowOwner::settle_end(Limit& limit, const WindowReport& report) {
    const std::int64_t end = limit.end;
    const std::int64_t named = report.end;
    if (named == end) {
        return end > second_ - kClocksDiffer;
    }
    if (named > second_ + kFarthestWindow) {
        return false;  // it cannot be one
    }
    if (end <= second_ + kClocksDiffer && named > end) {
        begin(limit, report.end);  // the next window
        return true;
    }
    if (named <= second_ + kClocksDiffer) {
        return false;
    }
    if (named < end) {
        // It began there before others did. All others are told.
        limit.end = report.end;
        for (auto& [id, row] : limit.rows) {
            row.told = {};
        }
    }
    return true;
}

/// Whether the report is of an earlier window than the one that members that live are in. An owner
/// that was replaced may tell of members that are gone with the end of a window that nobody is in
/// any more. A member that lives and is in that window says so itself.
bool WindowOwner::is_of_earlier(const Limit& limit, const WindowReport& report) const {
    return report.end < limit.end && report.end > second_ + kClocksDiffer &&
           std::any_of(limit.rows.begin(), limit.rows.end(),
                       [](const auto& each) { return each.second.reported; });
}

// --- members that are gone -----------------------------------------------------------------------

/// The member of the row is gone, or cannot be heard (`held`: its share is kept). What it admitted
/// stays.
void WindowOwner::bury(Limit& limit, const Row& row, Instant now, bool held) {
    if (!row.reported || (row.said.admitted == 0 && !held)) {
        return;
    }
    if (take_gone(limit, count_of(limit, row.said)) && held) {
        limit.held[row.said.run] = {.member = row.number, .since = now, .allowed = counted(row, 0)};
    }
}

/// Notes what a run of a member that is gone had admitted. False when there is no room for it.
bool WindowOwner::take_gone(Limit& limit, const WindowReport& report) {
    WEIR_ASSERT(report.gone);
    const std::size_t before = limit.gone.size();
    const bool room = gone_ < kMostGone || limit.gone.find(report.run) != nullptr;
    const GoneRuns::Taken taken =
        room ? limit.gone.take(report.run, report.number, report.admitted) : GoneRuns::Taken::full;
    gone_ += limit.gone.size() - before;
    if (taken == GoneRuns::Taken::full) {
        ++statistics_.dropped_entries;
        return false;
    }
    if (taken == GoneRuns::Taken::news) {
        ++news_;
        limit.handed_times = 0;
    }
    return true;
}

/// The row of the member that has this run; null if there is none.
WindowOwner::Row* WindowOwner::row_of(Limit& limit, std::uint64_t run) {
    for (auto& [id, row] : limit.rows) {
        if (row.reported && row.said.run == run) {
            return &row;
        }
    }
    return nullptr;
}

/// Of members that cannot be heard, if members have changed since it last looked, keeps what their
/// runs had admitted. If a share is not kept any more, nothing else of it stays.
void WindowOwner::judge(Limit& limit, Instant now) {
    std::erase_if(limit.held, [&](const auto& one) {
        return !keeps_share(one.second.member, one.second.since, now);
    });
    if (limit.judged == judgements_) {
        return;
    }
    limit.judged = judgements_;
    for (auto each = limit.rows.begin(); each != limit.rows.end();) {
        if (silence_.is_live(each->second.number)) {
            ++each;
            continue;
        }
        const Row row = each->second;
        each = limit.rows.erase(each);
        WEIR_ASSERT(rows_ > 0);
        --rows_;
        bury(limit, row, now, keeps_share(row.number, now, now));
    }
}

bool WindowOwner::keeps_share(MemberNumber member, Instant since, Instant now) const {
    return silence_.has_share(member, now) ||
           (now - since < kKeepShare && !silence_.has_ended(member));
}

// --- reports -------------------------------------------------------------------------------------

/// The member of this run lives. Null when there is no room for it, or the report is an old one.
WindowOwner::Row* WindowOwner::take_row(Limit& limit, const gossip::MemberId& from,
                                        MemberNumber number, const WindowReport& report,
                                        Instant now) {
    // A member that was given up comes back, perhaps with another incarnation.
    if (const GoneRuns::GoneRun* const gone = limit.gone.find(report.run)) {
        if (report.number < gone->number) {
            return nullptr;  // late
        }
        limit.gone.remove(report.run);
        limit.held.erase(report.run);
        WEIR_ASSERT(gone_ > 0);
        --gone_;
        show_knowledge(from);
    }
    const bool known = limit.rows.contains(from);
    for (auto each = limit.rows.begin(); each != limit.rows.end() && !known;) {
        const bool earlier = each->second.said.run == report.run;
        rows_ -= earlier ? 1U : 0U;
        each = earlier ? limit.rows.erase(each) : std::next(each);
    }
    if (rows_ >= kMostRows && !known) {
        ++statistics_.dropped_entries;
        return nullptr;
    }
    const auto [place, added] = limit.rows.try_emplace(from);
    rows_ += added ? 1U : 0U;
    Row& row = place->second;
    if (row.reported && row.said.run != report.run) {
        bury(limit, row, now, false);  // another process is at this address
        row = Row{};
    }
    if (row.reported && report.number <= row.said.number) {
        return row.said.number == report.number ? &row : nullptr;
    }
    news_ += row.reported && row.said.admitted == report.admitted ? 0U : 1U;
    row.heard = now;
    row.unconfirmed = 0;
    row.number = number;
    row.reported = true;
    row.said = report;
    row.said.end = limit.end;
    row.granted = row.most_granted = std::max(report.allowance, report.admitted);
    limit.most = report.most > 0 ? report.most : limit.most;
    take_turn(limit, row, now);
    return &row;
}

/// The member knows what was admitted before all owners were lost, if they were.
void WindowOwner::show_knowledge(const gossip::MemberId& member) {
    if (lost_ != nullptr) {
        lost_->knows(member.address);
    }
}

/// Takes in what another owner says of a member that is gone. True if it is known from now on.
bool WindowOwner::notes_gone(Limit& limit, const WindowReport& report) {
    if (const Row* const lives = row_of(limit, report.run)) {
        // Of a member that lives here something newer is not noted yet: this owner may find it gone
        // later, and would not know what it had admitted last.
        return lives->said.number >= report.number;
    }
    return take_gone(limit, report);
}

/// A member that is gone has said this before its goodbye, which has overtaken it. Its row may be
/// here still, until the next tick.
void WindowOwner::hear_last(Limit& limit, WindowReport report) {
    Row* const row = row_of(limit, report.run);
    if (row == nullptr) {
        report.gone = true;
        (void)take_gone(limit, report);
    } else if (report.number > row->said.number) {
        row->said = report;
        ++news_;
    }
}

/// Another member tells of one that is gone. True if that is known from now on.
bool WindowOwner::hear_of_gone(Limit& limit, const gossip::MemberId& from,
                               const WindowReport& report, Instant now) {
    const std::uint64_t news = news_;
    const bool noted = notes_gone(limit, report);
    limit.most = limit.most > 0 ? limit.most : report.most;
    if (news != news_ && now - others_since_ < kLearnAtMost) {
        learn_on(now);  // there may be more
    }
    show_knowledge(from);
    return noted;
}

void WindowOwner::receive(const gossip::MemberId& from, MemberNumber number,
                          const WindowReport& report, Instant now, WindowSink& sink) {
    if (!is_owner(report.key)) {
        ++statistics_.refused_not_owner;
        return;
    }
    WindowGrant answer{
        .key = report.key, .run = report.run, .end = report.end, .number = report.number};
    const auto slot = find_or_add(report.key);
    if (!slot) {
        return;
    }
    Limit& limit = limits_[*slot];
    due_.add(*slot, now + 1s);  // also if there is no room for what is reported
    if (report.gone && is_of_earlier(limit, report)) {
        return;  // it is told again, and counts as soon as a member that lives names this end
    }
    if (!settle_end(limit, report)) {
        sink.send_window_grant(from, answer);  // nobody needs to know it any more
        due_.add(*slot, now);
        return;
    }
    answer.end = limit.end;
    if (report.gone) {
        if (hear_of_gone(limit, from, report, now)) {
            sink.send_window_grant(from, answer);
        }
        due_.add(*slot, now);
        return;
    }
    judge(limit, now);
    if (!silence_.is_live(number)) {
        hear_last(limit, report);
        due_.add(*slot, now);
        return;
    }
    Row* const row = take_row(limit, from, number, report, now);
    if (row == nullptr) {
        return;
    }
    WEIR_ASSERT(row->reported && row->granted >= row->said.admitted);
    const Instant told_before = row->told;
    const bool few = limit.rows.size() <= kFewRows;
    const bool divides = few || now - limit.divided >= kDivideWindowEvery;
    if (divides) {
        divide_anew(limit, now, sink);
    }
    if (row->told == told_before || row->told != now) {
        if (is_first(limit.key) && !learns(limit, now) && limit.most > 0) {
            send(limit, from, *row, now, sink);
        } else {
            sink.send_window_grant(from, answer);
        }
    }
    due_.add(*slot, divides ? next_look(limit, now) : limit.divided + kDivideWindowEvery);
}

// --- what is due ---------------------------------------------------------------------------------

void WindowOwner::look(std::uint32_t slot, Instant now, WindowSink& sink) {
    WEIR_ASSERT(slot < limits_.slots());
    Limit& limit = limits_[slot];
    judge(limit, now);
    hand_over(limit, now, sink);
    // What is known stays until the window ends, also where this member owns the limit no more: it
    // may own it again before all others have noticed that it did not.
    if (limit.end + kClocksDiffer <= second_) {
        remove(slot);
        return;
    }
    divide_anew(limit, now, sink);
    due_.add(slot, next_look(limit, now));
}

/// When a member that has not confirmed a smaller grant, or not answered a question, is told again.
Duration WindowOwner::again_after(const Row& row) {
    return kGrantAgain * (std::int64_t{1} << std::min(row.unconfirmed, kGrantDoublings));
}

Instant WindowOwner::next_look(const Limit& limit, Instant now) const {
    const auto until_end = std::chrono::seconds(std::int64_t{limit.end} + kClocksDiffer - second_);
    Instant next = now + std::max<Duration>(until_end, 1s);
    const membership::Shard shard = membership::shard_of(limit.key.quota);
    if (is_first(limit.key) && learns(limit, now)) {
        const Instant least = std::max(learns_until_, first_since_[shard] + kLearnAtLeast);
        next = std::min(next, now < least ? least : first_since_[shard] + kLearn);
    }
    for (const auto& [id, row] : limit.rows) {
        if (row.granted < std::max(row.said.allowance, row.most_granted) || !row.reported) {
            next = std::min(next, std::max(now, row.told + again_after(row)));
        }
    }
    if (limit.gone.untold() > 0 || limit.owners_version != owners_version_[shard]) {
        next = std::min(next, std::max(now, hand_again(limit)));
    }
    for (const auto& [run, held] : limit.held) {
        if (now - held.since < kKeepShare) {
            next = std::min(next, held.since + kKeepShare);
        }
    }
    return std::max(next, now + 10ms);
}

}  // namespace weir::sync
