#include <algorithm>

#include "base/assert.h"
#include "sync/window_owner.h"

// What a WindowOwner knows to have been admitted: for questions about it, and for snapshots.

namespace weir::sync {

std::optional<std::uint64_t> WindowOwner::admitted(const LimitKey& key) const {
    const auto known = limits_.find(key);
    if (!known || limits_[*known].end <= second_) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    for (const auto& [id, row] : limits_[*known].rows) {
        sum += row.said.admitted;
    }
    return sum + limits_[*known].gone.admitted();
}

/// As it is told to other owners, and kept in snapshots.
WindowReport WindowOwner::count_of(const Limit& limit, WindowReport said) {
    WEIR_ASSERT(said.run != 0 && limit.end != 0);
    said.end = limit.end;
    said.most = limit.most;
    said.gone = true;
    said.told = false;
    said.allowance = said.wanted = said.admitted;
    return said;
}

WindowReport WindowOwner::report_of(const Limit& limit, const GoneRuns::GoneRun& count) {
    WindowReport said;
    said.key = limit.key;
    said.run = count.run;
    said.number = count.number;
    said.admitted = count.admitted;
    return count_of(limit, said);
}

std::size_t WindowOwner::uncertain(const LostOwners& lost) const {
    std::size_t count = 0;
    limits_.for_each([&](const LimitKey& key, std::uint32_t slot) {
        const membership::Shard shard = membership::shard_of(key.quota);
        const std::int64_t end = limits_[slot].end;
        const std::int64_t begin = end - static_cast<std::int64_t>(key.period_ms / 1000);
        count += is_owner(key) && end > second_ && begin <= lost.lost_at(shard) ? 1U : 0U;
    });
    WEIR_ASSERT(count <= limits_.size());
    return count;
}

void WindowOwner::restore(const WindowReport& report, Instant now) {
    WEIR_ASSERT(plausible(report) && report.gone && second_ > 0);
    if (report.end + kClocksDiffer <= second_) {
        return;
    }
    const auto slot = find_or_add(report.key);
    if (!slot) {
        return;
    }
    Limit& limit = limits_[*slot];
    due_.add(*slot, now);
    if (settle_end(limit, report)) {
        limit.most = limit.most > 0 ? limit.most : report.most;
        (void)notes_gone(limit, report);
    }
}

bool WindowOwner::has_count_of_self(const WindowReport& report) const {
    WEIR_ASSERT(report.run != 0 && report.end != 0);
    const auto known = limits_.find(report.key);
    if (!known || limits_[*known].end != report.end) {
        return false;
    }
    const auto row = limits_[*known].rows.find(self_);
    return row != limits_[*known].rows.end() && row->second.reported &&
           row->second.said.run == report.run && row->second.said.number >= report.number;
}

}  // namespace weir::sync
