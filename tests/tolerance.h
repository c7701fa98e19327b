#pragma once
// Comparison with a tolerance that is exactly what is written: `CHECK(mean == plus_minus(1, 0.01))`
// holds from 0.99 to 1.01, both included. doctest::Approx is for rounding errors only: its
// epsilon(e) tolerates e * (1 + max(|x|, |y|)), which is twice e at 1 and ten times e, relatively,
// at 0.1.

#include <cmath>
#include <ostream>

namespace weir::testing {

/// A value and by how much it may differ, in the same unit.
struct PlusMinus {
    double value;
    double tolerance;

    friend bool operator==(double seen, const PlusMinus& bound) {
        return std::abs(seen - bound.value) <= bound.tolerance;  // false for NaN
    }
    friend std::ostream& operator<<(std::ostream& stream, const PlusMinus& bound) {
        return stream << bound.value << " +- " << bound.tolerance;
    }
};

inline PlusMinus plus_minus(double value, double tolerance) { return {value, tolerance}; }

}  // namespace weir::testing
