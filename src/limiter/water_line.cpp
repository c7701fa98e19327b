#include "limiter/water_line.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::limiter {
namespace {

bool is_higher(const ChildRate& one, const ChildRate& other) {
    return one.line() != other.line() ? one.line() > other.line() : one.child < other.child;
}

}  // namespace

void keep_highest(ChildRates& rates, double least) {
    std::vector<ChildRate>& children = rates.children;
    rates.full = rates.full || children.size() > kKnownChildren;
    const std::size_t kept = std::min(children.size(), kKnownChildren);
    std::partial_sort(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(kept),
                      children.end(), is_higher);
    children.resize(kept);
    const auto low = std::find_if(children.begin(), children.end(),
                                  [least](const ChildRate& child) { return child.line() < least; });
    if (low != children.end() && low != children.begin()) {
        rates.full = false;
        rates.rest = low->line();
        children.erase(low, children.end());
        return;
    }
    rates.rest = children.empty() ? 0 : children.back().line();
    WEIR_ASSERT(children.size() <= kKnownChildren);
}

WaterLine::WaterLine(const ChildRates& rates) {
    std::vector<ChildRate> children = rates.children;
    double known = 0;
    for (const ChildRate& child : children) {
        known += child.rate;
    }
    // Those that are not known count as one child that has as many shares as it needs to stand at
    // `rest`.
    if (rates.total > known && rates.rest > 0) {
        const double rate = rates.total - known;
        children.push_back({0, rate, rate / rates.rest});
    }
    std::sort(children.begin(), children.end(),
              [](const ChildRate& one, const ChildRate& other) { return is_higher(other, one); });
    double shares = 0;
    for (const ChildRate& child : children) {
        WEIR_ASSERT(child.share > 0 && child.rate >= 0);
        shares += child.share;
        total_ += child.rate;
    }
    corners_.reserve(children.size());
    double below = 0;  // the rates of children that lie at or below the line
    for (const ChildRate& child : children) {
        below += child.rate;
        shares = std::max(0.0, shares - child.share);
        corners_.push_back({child.line(), below + shares * child.line()});
    }
}

double WaterLine::at(double passing) const {
    if (corners_.empty()) {
        return 0;
    }
    const double wanted = std::clamp(passing, 0.0, 1.0) * total_;
    const auto above = std::lower_bound(
        corners_.begin(), corners_.end(), wanted,
        [](const Corner& corner, double weight) { return corner.passed < weight; });
    if (above == corners_.end()) {
        return corners_.back().line;
    }
    const Corner before = above == corners_.begin() ? Corner{} : *(above - 1);
    WEIR_ASSERT(above->passed >= wanted && before.line <= above->line);
    const double step = above->passed - before.passed;
    const double part = step > 0 ? (wanted - before.passed) / step : 1;
    return before.line + part * (above->line - before.line);
}

}  // namespace weir::limiter
