#pragma once
// One origin's counts for one limit: three G-counters under one run number (admitted less refunded
// is a PN-counter; Shapiro et al. 2011, 3.1). Only the origin changes them; everybody else merges
// by maximum, so that loss, duplication and reordering heal by themselves. Within a run merging is
// commutative, associative, idempotent and monotone. Plain value.

#include <algorithm>
#include <cstdint>

namespace weir::sync {

struct CounterCell {
    std::uint32_t run = 0;  // larger for each run of a process (run_number.h); 0: nothing known
    double admitted = 0;
    double refunded = 0;
    double offered = 0;

    [[nodiscard]] double net() const { return admitted - refunded; }
    friend bool operator==(const CounterCell&, const CounterCell&) = default;
};

/// The merge of two states of one run.
[[nodiscard]] inline CounterCell merge(const CounterCell& one, const CounterCell& other) {
    return {std::max(one.run, other.run), std::max(one.admitted, other.admitted),
            std::max(one.refunded, other.refunded), std::max(one.offered, other.offered)};
}

/// Whether `later` may follow `earlier` in the life of one run: nothing falls.
[[nodiscard]] inline bool follows(const CounterCell& later, const CounterCell& earlier) {
    return later.run == earlier.run && later.admitted >= earlier.admitted &&
           later.refunded >= earlier.refunded && later.offered >= earlier.offered;
}

}  // namespace weir::sync
