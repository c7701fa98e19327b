#pragma once
// Bounds as they are read: `CHECK(mean == plus_minus(1, 0.01))` holds from 0.99 to 1.01, both
// included. doctest::Approx is for rounding only: its epsilon(e) tolerates e * (1 + max(|x|, |y|)),
// twice as much as it says at 1, and ten times as much at 0.1.

#include <cmath>
#include <ostream>

namespace weir::testing {

/// A value, give or take so much of the same unit.
struct PlusMinus {
    double value;
    double tolerance;

    friend bool operator==(double seen, const PlusMinus& bound) {
        return std::abs(seen - bound.value) <= bound.tolerance;  // not of NaN
    }
    friend std::ostream& operator<<(std::ostream& stream, const PlusMinus& bound) {
        return stream << bound.value << " +- " << bound.tolerance;
    }
};

inline PlusMinus plus_minus(double value, double tolerance) { return {value, tolerance}; }

}  // namespace weir::testing
