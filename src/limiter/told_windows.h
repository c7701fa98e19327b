#pragma once
// What this process was told of the present windows of limits that it may not have used yet: when
// they end and how much of them it may admit. A limit that is used for the first time begins with
// that. It is a cache: a limit finds room in one of eight places, and if all are taken, in place of
// the one whose window ends first, which is rare in a table of which a quarter is used. A limit
// that was forgotten begins with an equal part (windows.h).
//
// Thread-safety: one thread calls tell(), any number call find() at the same time, without a lock.
// Ownership: it owns its tables. The first is made with the first tell(), and a larger one when a
// quarter of it is used; smaller ones are kept, because others may still read them, so that all
// together have at most twice the places of the largest. Invariant: find() returns nothing that was
// put together from two calls of tell().

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/fleet_values.h"

namespace weir::limiter {

class ToldWindows {
  public:
    static constexpr std::size_t kFirstPlaces = std::size_t{1} << 13;
    static constexpr std::size_t kMostPlaces = std::size_t{1} << 19;

    /// Notes what was told of a limit, which is known by this number (not 0).
    void tell(std::uint64_t limit, const WindowAllowance& told) {
        WEIR_ASSERT(limit != 0 && told.end > 0 && told.allowance >= 0);
        if (tables_.empty() || (used_ > newest().size / 4 && newest().size < kMostPlaces)) {
            grow();
        }
        Place& place = place_for(newest(), limit);
        used_ += place.limit.load(kRelaxed) == 0 ? 1U : 0U;
        write(place, limit, told);
    }
    /// What was told of the limit last.
    [[nodiscard]] std::optional<WindowAllowance> find(std::uint64_t limit) const {
        const Table* const table = table_.load(std::memory_order_acquire);
        if (table == nullptr || limit == 0) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < kWays; ++i) {
            if (const auto told = read(table->places[first_place(*table, limit) + i], limit)) {
                return told;
            }
        }
        return std::nullopt;
    }

  private:
    /// So many places in a row may hold a limit.
    static constexpr std::size_t kWays = 8;
    struct Place {
        std::atomic<std::uint64_t> limit{0};    // 0 = nothing was told
        std::atomic<std::uint32_t> changes{0};  // odd while it is being changed
        std::atomic<std::int64_t> end{0};
        std::atomic<double> allowance{0};
        std::atomic<double> admitted{0};
    };
    struct Table {
        std::size_t size;
        std::unique_ptr<Place[]> places;
    };

    [[nodiscard]] Table& newest() { return *tables_.back(); }
    [[nodiscard]] static std::size_t first_place(const Table& table, std::uint64_t limit) {
        return limit / 2 % (table.size / kWays) * kWays;  // all numbers may be odd
    }
    /// The limit's own place, else a free one, else that of the window that ends or ended first.
    [[nodiscard]] static Place& place_for(Table& table, std::uint64_t limit) {
        Place* const places = &table.places[first_place(table, limit)];
        Place* best = places;
        for (std::size_t i = 0; i < kWays; ++i) {
            const std::uint64_t other = places[i].limit.load(kRelaxed);
            if (other == limit) {
                return places[i];
            }
            const std::int64_t end = places[i].end.load(kRelaxed);
            WEIR_ASSERT(other != 0 || end == 0);
            if (end < best->end.load(kRelaxed)) {
                best = &places[i];
            }
        }
        return *best;
    }
    static void write(Place& place, std::uint64_t limit, const WindowAllowance& told) {
        const std::uint32_t changes = place.changes.load(kRelaxed);
        place.changes.store(changes + 1, kRelaxed);
        std::atomic_thread_fence(std::memory_order_release);
        place.end.store(told.end, kRelaxed);
        place.allowance.store(told.allowance, kRelaxed);
        place.admitted.store(told.admitted, kRelaxed);
        place.limit.store(limit, kRelaxed);
        place.changes.store(changes + 2, std::memory_order_release);
    }
    [[nodiscard]] static std::optional<WindowAllowance> read(const Place& place,
                                                             std::uint64_t limit) {
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
    void grow() {
        const std::size_t size = tables_.empty() ? kFirstPlaces : newest().size * 2;
        auto larger = std::make_unique<Table>(Table{size, std::make_unique<Place[]>(size)});
        used_ = 0;
        for (std::size_t i = 0; !tables_.empty() && i < newest().size; ++i) {
            const Place& from = newest().places[i];
            if (const std::uint64_t limit = from.limit.load(kRelaxed); limit != 0) {
                Place& to = place_for(*larger, limit);
                used_ += to.limit.load(kRelaxed) == 0 ? 1U : 0U;
                write(to, limit, *read(from, limit));
            }
        }
        tables_.push_back(std::move(larger));
        table_.store(tables_.back().get(), std::memory_order_release);
    }

    std::vector<std::unique_ptr<Table>> tables_;  // the newest last
    std::size_t used_ = 0;                        // places of the newest
    std::atomic<const Table*> table_{nullptr};    // the newest, for those who read
};

}  // namespace weir::limiter
