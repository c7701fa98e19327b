#pragma once
// The levels that limits had before this process began, as a snapshot of the former process says.
// A limit that is used for the first time begins with what is left of its level. So a restart does
// not give away a second bucket of a limit that takes hours to drain.
//
// What a limit began with was admitted by others or by the former process. The engine must not
// tell it to the fleet as weight that this process has admitted, so it asks here how much of a
// record's level that still is.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), except any().
// Ownership: it owns its tables. Bounds: at most kMost levels wait for their limits, and as many
// records are remembered that began with one.

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

    /// Whether a level waits for its limit, or a record began with one that may not have drained.
    [[nodiscard]] bool any() const { return any_.load(std::memory_order_relaxed); }
    /// Notes the level that a limit, which is known by this number, had at that time. `naming` is
    /// always the same function.
    void tell(std::uint64_t limit, double level, Instant at, LimitNaming naming) {
        WEIR_ASSERT(limit != 0 && level >= 0);
        WEIR_ASSERT(naming != nullptr && (naming_ == nullptr || naming_ == naming));
        naming_ = naming;
        Told* const known = told_.contains(limit) ? &told_[limit] : nullptr;
        if (known != nullptr && known->level >= level) {
            return;  // it was told twice, once with what was counted later
        }
        if (known != nullptr || told_.size() < kMost) {
            told_[limit] = {level, at, 0};
            any_.store(true, std::memory_order_relaxed);
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
        note_any();
        return std::min(left, ceiling(limit.parameters, 1, 0));
    }
    /// The limit with this record, of the instance with this generation, has begun with that level.
    void begun(std::uint32_t record, std::uint32_t generation, double level, Instant now) {
        WEIR_ASSERT(record != 0 && level >= 0);
        if (begun_.size() < kMost || begun_.contains(record)) {
            begun_[record] = {level, now, generation};
            any_.store(true, std::memory_order_relaxed);
        }
    }
    /// How much of the record's level is still what it began with. `rate`: of the limit.
    [[nodiscard]] double left(std::uint32_t record, std::uint32_t generation, double rate,
                              Instant now) {
        const auto known = begun_.find(record);
        if (known == begun_.end()) {
            return 0;
        }
        const double left =
            known->second.generation == generation ? left_of(known->second, rate, now) : 0;
        if (left <= 0) {
            begun_.erase(known);
            note_any();
        }
        return left;
    }

  private:
    struct Told {
        double level = 0;
        Instant at{};
        std::uint32_t generation = 0;  // of the instance, once the level is a record's
    };

    [[nodiscard]] static double left_of(const Told& told, double rate, Instant now) {
        const double seconds = std::max(0.0, to_seconds(now - told.at));
        return std::max(0.0, told.level - rate * seconds);
    }
    void note_any() {
        any_.store(!told_.empty() || !begun_.empty(), std::memory_order_relaxed);
        WEIR_ASSERT(begun_.size() <= kMost && told_.size() <= kMost);
    }

    std::unordered_map<std::uint64_t, Told> told_;   // by the number of the limit
    std::unordered_map<std::uint32_t, Told> begun_;  // by the record
    LimitNaming naming_ = nullptr;
    std::atomic<bool> any_{false};
};

}  // namespace weir::limiter
