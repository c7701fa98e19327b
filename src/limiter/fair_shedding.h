#pragma once
// Fair shedding between the children of a parent: what each child of a shedding parent is offered,
// and the chance that the parent refuses a request of it. The parent's law says what share of all
// requests is to be refused (bucket.h); here that is divided among its children, by the water line
// (water_line.h). Only requests that meet a parent that sheds come here.
//
// A child is the instance just below the parent in the request's chain, or the parent itself for
// its own requests. What it is offered is estimated with a window of a second, in a table with a
// fixed number of places. What other sidecars are offered, and the line, come from the control
// thread (fair_port.h). Without them a parent sheds all its children alike.
//
// Thread-safety: refusal() and note() may run on any thread at once; tell() and everything in
// fair_port.h belong to the control thread. Nothing takes a lock or allocates.
// Ownership: owns its two tables, which cost memory only as they are used.
// Invariant: at most kParents parents and kChildren children are kept. A child for which there is
// no place is judged by the single request; a parent without a place sheds all alike.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "limiter/lazy_array.h"
#include "limiter/record.h"

namespace weir::limiter {

/// The window over which the rate of a child is estimated, seconds.
inline constexpr double kChildWindow = 1;

/// A child of a limit's quota, as a request meets it.
struct FairChild {
    std::uint32_t parent = 0;  // the record of the parent's limit
    std::uint32_t head = 0;    // the child's instance; 0 = the limit does not shed fairly
    double share = 1;
    [[nodiscard]] std::uint64_t key() const { return std::uint64_t{head} << 32 | parent; }
};

class FairShedding {
  public:
    static constexpr std::size_t kParents = 256;
    static constexpr std::size_t kChildren = std::size_t{1} << 16;

    // --- workers ---------------------------------------------------------------------------------
    /// The chance that the parent refuses a request of this weight of the child; `p` is the chance
    /// with which it refuses requests on the whole.
    [[nodiscard]] double refusal(const FairChild& child, double weight, double p,
                                 std::int64_t now) const;
    /// Counts weight that the child was offered.
    void note(const FairChild& child, double offered, std::int64_t now);

    // --- control thread --------------------------------------------------------------------------
    /// One place of the table of children; all zeros = free.
    struct alignas(32) Place {
        std::atomic<std::uint64_t> key;     // FairChild::key()
        std::atomic<std::uint64_t> recent;  // a Recent that decays with kChildWindow
        std::atomic<std::uint64_t> told;    // a Recent: what other sidecars are offered, and when
        std::atomic<std::uint64_t> mark;    // the hash by which the caller knows it; 0 = not yet
    };
    [[nodiscard]] Place& place(std::uint32_t index) { return children_[index]; }
    /// The weight per second that this process is offered.
    [[nodiscard]] static double rate_of(const Place& place, std::uint32_t tick);
    /// Visits the records of parents that have shed in the last second.
    template <class Visit>
    void for_each_shedding(std::int64_t now, Visit visit) const {
        const std::uint32_t tick = tick_of(now);
        for (std::size_t i = 0; i < kParents; ++i) {
            const std::uint32_t record = parents_[i].record.load(std::memory_order_relaxed);
            if (record != 0 && ticks_between(parents_[i].used.load(std::memory_order_relaxed),
                                             tick) < kTicksPerSecond) {
                visit(record);
            }
        }
    }
    /// Makes this function the parent's line, for kToldFor. `rest` is the line of children of which
    /// nothing was told; 0 = they are judged by what they are offered here.
    template <class LevelAndRecent>
    void tell(std::uint32_t parent, LevelAndRecent line, double rest, std::int64_t now);
    /// The line at which the parent lets this share of the requests through; 0 = it has none.
    [[nodiscard]] double line_of(std::uint32_t parent, double passing, std::int64_t now) const;

    /// How many parents and children found no place.
    [[nodiscard]] std::uint64_t without_place() const {
        return without_place_.load(std::memory_order_relaxed);
    }

    static constexpr std::uint32_t kTicksPerSecond = 954;
    /// So long what was told counts, in ticks.
    static constexpr std::uint32_t kToldFor = 3 * kTicksPerSecond;

  private:
    // The line is kept for shares of requests from 1 down to 2^-12, sixteen in each octave, as the
    // upper bits of the share's float tell them apart. In between it is interpolated.
    static constexpr std::uint32_t kOctaves = 12;
    static constexpr std::uint32_t kStepBits = 19;  // of the float's mantissa of 23
    static constexpr std::uint32_t kKnots = (kOctaves << (23 - kStepBits)) + 1;
    static constexpr std::uint32_t kLeastBits = (127 - kOctaves) << 23;
    struct Parent {
        std::atomic<std::uint32_t> record;
        std::atomic<std::uint32_t> used;   // tick
        std::atomic<std::uint32_t> told;   // tick
        std::atomic<std::uint32_t> valid;  // 1 = it has a line
        std::atomic<float> rest;
        std::array<std::atomic<float>, kKnots> line;

        [[nodiscard]] double at(double passing) const;
    };
    [[nodiscard]] static float share_at(std::uint32_t knot) {
        return std::bit_cast<float>(kLeastBits + (knot << kStepBits));
    }
    [[nodiscard]] const Parent* find_parent(std::uint32_t record) const;
    void use_parent(std::uint32_t record, std::uint32_t tick);
    [[nodiscard]] const Parent* told_parent(std::uint32_t record, std::uint32_t tick) const;
    [[nodiscard]] const Place* find(std::uint64_t key) const;
    [[nodiscard]] bool claim(std::uint64_t key, double offered, std::uint32_t tick);

    LazyArray<Parent> parents_{kParents};
    LazyArray<Place> children_{kChildren};
    std::atomic<std::uint64_t> without_place_{0};
};

template <class LevelAndRecent>
void FairShedding::tell(std::uint32_t parent, LevelAndRecent line, double rest, std::int64_t now) {
    auto* found = const_cast<Parent*>(find_parent(parent));
    if (found == nullptr) {
        return;
    }
    for (std::uint32_t knot = 0; knot < kKnots; ++knot) {
        found->line[knot].store(static_cast<float>(line(static_cast<double>(share_at(knot)))),
                                std::memory_order_relaxed);
    }
    found->rest.store(static_cast<float>(rest), std::memory_order_relaxed);
    found->told.store(tick_of(now), std::memory_order_relaxed);
    found->valid.store(1, std::memory_order_release);
}

}  // namespace weir::limiter
