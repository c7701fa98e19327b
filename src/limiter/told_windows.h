#pragma once
// What this process was told of the present windows of limits that it may not have used yet: when
// they end and how much of them it may admit. A limit that is used for the first time begins with
// that. It is a cache with one place for each hash: what another limit has displaced is forgotten,
// and that limit then begins with an equal part (windows.h).
//
// Thread-safety: one thread calls tell() and forget(), any number call find() at the same time,
// without a lock. Ownership: it owns its table, which is made with the first tell().
// Invariant: find() returns nothing that was put together from two calls of tell().

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/fleet_values.h"

namespace weir::limiter {

class ToldWindows {
  public:
    /// Notes what was told of a limit, which is known by this number (not 0).
    void tell(std::uint64_t limit, const WindowAllowance& told) {
        WEIR_ASSERT(limit != 0 && told.allowance >= 0);
        if (memory_ == nullptr) {
            memory_ = std::make_unique<Place[]>(kPlaces);
            places_.store(memory_.get(), std::memory_order_release);
        }
        Place& place = memory_[limit % kPlaces];
        const std::uint32_t changes = place.changes.load(kRelaxed);
        place.changes.store(changes + 1, kRelaxed);
        std::atomic_thread_fence(std::memory_order_release);
        place.end.store(told.end, kRelaxed);
        place.allowance.store(told.allowance, kRelaxed);
        place.admitted.store(told.admitted, kRelaxed);
        place.limit.store(limit, kRelaxed);
        place.changes.store(changes + 2, std::memory_order_release);
    }
    /// What was told of the limit last.
    [[nodiscard]] std::optional<WindowAllowance> find(std::uint64_t limit) const {
        const Place* const places = places_.load(std::memory_order_acquire);
        if (places == nullptr || limit == 0) {
            return std::nullopt;
        }
        const Place& place = places[limit % kPlaces];
        const std::uint32_t changes = place.changes.load(std::memory_order_acquire);
        if (place.limit.load(kRelaxed) != limit || changes % 2 != 0) {
            return std::nullopt;
        }
        const WindowAllowance told{place.end.load(kRelaxed), place.allowance.load(kRelaxed),
                                   place.admitted.load(kRelaxed)};
        std::atomic_thread_fence(std::memory_order_acquire);
        if (place.changes.load(kRelaxed) != changes) {
            return std::nullopt;
        }
        WEIR_ASSERT(told.allowance >= 0);
        return told;
    }

  private:
    static constexpr std::size_t kPlaces = std::size_t{1} << 14;
    struct Place {
        std::atomic<std::uint64_t> limit{0};    // 0 = nothing was told
        std::atomic<std::uint32_t> changes{0};  // odd while it is being changed
        std::atomic<std::int64_t> end{0};
        std::atomic<double> allowance{0};
        std::atomic<double> admitted{0};
    };
    std::unique_ptr<Place[]> memory_;
    std::atomic<const Place*> places_{nullptr};
};

}  // namespace weir::limiter
