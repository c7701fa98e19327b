// What the reporter shows of itself: staleness, pace and silences.
#include <algorithm>
#include <span>

#include "base/assert.h"
#include "sync/reporter.h"

namespace weir::sync {

Duration Reporter::staleness(const Owner& owner, Instant now) const {
    Duration oldest{};
    for (const std::uint32_t slot : awake_) {
        const SyncedLimit& limit = slots_[slot];
        // Without load here nothing is let through on what is known.
        const bool no_load = limit.own.rate <= 0 || limit.told_no_load(settings_, side_, now);
        if (no_load || now - limit.touched >= 2 * settings_.keep_alive) {
            continue;
        }
        oldest = std::max(oldest, limit.staleness(settings_, side_, self_, now));
        if (!owner.owns(membership::shard_of(limit.key.quota))) {
            continue;
        }
        const OwnedLimit* owned = owner.find(limit.key);
        if (owned != nullptr && owned->oldest_word) {
            oldest = std::max(oldest, now - *owned->oldest_word);
        }
    }
    return oldest;
}

std::uint8_t Reporter::pace() const {
    std::uint8_t most = 0;
    for (const std::uint32_t slot : awake_) {
        most = std::max(most, slots_[slot].pace());
    }
    return most;
}

std::vector<LimitSilence> Reporter::silences(std::size_t most, Instant now) const {
    struct Row {
        Duration silence;
        std::uint32_t slot;
    };
    std::vector<Row> rows;
    for (const std::uint32_t slot : awake_) {
        const SyncedLimit& limit = slots_[slot];
        std::optional<Instant> last;
        bool others = false;
        for (const OwnerView& view : limit.views) {
            if (view.owner() == self_) {
                continue;
            }
            others = true;
            if (view.heard_at()) {
                last = std::max(last.value_or(Instant::min()), *view.heard_at());
            }
        }
        if (others) {
            rows.push_back({now - last.value_or(limit.run_began), slot});
        }
    }
    const auto longer = [this](const Row& row, const Row& other) {
        return row.silence != other.silence ? row.silence > other.silence
                                            : slots_[row.slot].name < slots_[other.slot].name;
    };
    const std::size_t count = std::min(most, rows.size());
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                      longer);
    std::vector<LimitSilence> result;
    for (const Row& row : std::span(rows).first(count)) {
        WEIR_ASSERT(row.slot < slots_.size());
        const SyncedLimit& limit = slots_[row.slot];
        LimitSilence& told = result.emplace_back();
        told.quota = limit.name;
        told.unit = limiter::to_string(limit.unit);
        told.period = limit.period;
        told.silence = row.silence;
        told.isolated = limit.isolated;
        for (const OwnerView& view : limit.views) {
            if (view.owner() == self_) {
                continue;
            }
            ++told.owners;
            told.believed += view.filled() && view.fresh(settings_, now) ? 1U : 0U;
        }
    }
    return result;
}

}  // namespace weir::sync
