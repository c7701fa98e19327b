#pragma once
// The levels that limits had before this process began, as a snapshot of the former process says.
// A limit that is used for the first time begins with what is left of its level. So a restart does
// not give away a second bucket of a limit that takes hours to drain.
//
// What a limit began with was admitted by others or by the former process. The engine must not
// tell it to the fleet as weight that this process has admitted, so it asks here how much of a
// record's level that still is.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), except holds_none().
// Ownership: it owns its tables, and drops what is in them when every level has drained. Bounds: at
// most kMost levels wait for their limits, and as many records are remembered that began with one.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/assert.h"
#include "base/instant.h"
#include "limiter/compiled_definition.h"
#include "limiter/fleet_values.h"

namespace weir::limiter {

class ToldLevels {
  public:
    static constexpr std::size_t kMost = std::size_t{1} << 17;
    static constexpr std::size_t kDroppedAtOnce = 64;

    /// Whether no level waits for its limit, and no record began with one that may not have
    /// drained.
    [[nodiscard]] bool holds_none() const { return !holds_.load(std::memory_order_relaxed); }
    /// Notes the level of a limit, which is known by this number. `naming` is always the same
    /// function.
    void tell(std::uint64_t limit, const ToldLevel& told, LimitNaming naming) {
        WEIR_ASSERT(limit != 0 && told.level >= 0 && told.rate > 0);
        WEIR_ASSERT(naming != nullptr && (naming_ == nullptr || naming_ == naming));
        naming_ = naming;
        const auto known = told_.find(limit);
        if (known != told_.end() && known->second.level >= told.level) {
            return;  // it was told twice, once with what was counted later
        }
        if (known != told_.end() || told_.size() < kMost) {
            told_[limit] = told;
            hold(told);
        }
    }
    /// What is left of the level that was told of this limit of the instance with that name, at
    /// most what its bucket holds. The next call returns 0.
    [[nodiscard]] double take(std::string_view name, const CompiledLimit& limit, Instant now) {
        if (told_.empty()) {
            return 0;
        }
        const auto known = told_.find(naming_(name, limit.unit, limit.period));
        if (known == told_.end()) {
            return 0;
        }
        const double left = left_of(known->second, limit.parameters.rate, now);
        told_.erase(known);
        note_empty();
        return std::min(left, ceiling(limit.parameters, 1, 0));
    }
    /// The limit with this record, of the instance with this generation, has begun with that level.
    void begun(std::uint32_t record, std::uint32_t generation, const ToldLevel& with) {
        WEIR_ASSERT(record != 0 && with.level >= 0);
        if (begun_.size() < kMost || begun_.contains(record)) {
            begun_[record] = {with, generation};
            hold(with);
        }
    }
    /// How much of the record's level is still what it began with. `rate`: of the limit.
    [[nodiscard]] double left(std::uint32_t record, std::uint32_t generation, double rate,
                              Instant now) {
        drop_drained(now);
        const auto known = begun_.find(record);
        if (known == begun_.end()) {
            return 0;
        }
        const double left =
            known->second.generation == generation ? left_of(known->second.with, rate, now) : 0;
        if (left <= 0) {
            begun_.erase(known);
            note_empty();
        }
        return left;
    }

  private:
    struct BegunRecord {
        ToldLevel with;
        std::uint32_t generation = 0;  // of the instance
    };

    /// `rate`: of the limit now. Its definition may have changed since the level was told.
    [[nodiscard]] static double left_of(const ToldLevel& told, double rate, Instant now) {
        const double seconds = std::max(0.0, to_seconds(now - told.at));
        return std::max(0.0, told.level - rate * seconds);
    }
    /// Notes until when this level has to be known.
    void hold(const ToldLevel& told) {
        constexpr double kLongest = 400.0 * 24 * 3600;  // more than any period
        const double seconds =
            told.rate > 0 ? std::min(kLongest, told.level / told.rate) : kLongest;
        drained_at_ = std::max(drained_at_, told.at + from_seconds(seconds));
        holds_.store(true, std::memory_order_relaxed);
    }
    /// Levels of limits that nobody uses any more would else be asked about for ever. A few in each
    /// call, because workers wait for the lock.
    void drop_drained(Instant now) {
        if (now <= drained_at_) {
            return;
        }
        for (std::size_t i = 0; i < kDroppedAtOnce && !told_.empty(); ++i) {
            told_.erase(told_.begin());
        }
        for (std::size_t i = 0; i < kDroppedAtOnce && !begun_.empty(); ++i) {
            begun_.erase(begun_.begin());
        }
        note_empty();
    }
    void note_empty() {
        holds_.store(!told_.empty() || !begun_.empty(), std::memory_order_relaxed);
        WEIR_ASSERT(begun_.size() <= kMost && told_.size() <= kMost);
    }

    std::unordered_map<std::uint64_t, ToldLevel> told_;     // by the number of the limit
    std::unordered_map<std::uint32_t, BegunRecord> begun_;  // by the record
    LimitNaming naming_ = nullptr;
    Instant drained_at_{};  // nothing is left of any level from then on
    std::atomic<bool> holds_{false};
};

}  // namespace weir::limiter
