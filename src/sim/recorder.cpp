#include "sim/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::sim {
namespace {

constexpr double kBinsPerSecond = 100;

}  // namespace

Recorder::Recorder(std::size_t quotas, double seconds)
    : size_(static_cast<std::size_t>(std::ceil(seconds * kBinsPerSecond)) + 1),
      offered_(quotas, std::vector<std::uint32_t>(size_)),
      admitted_(offered_) {}

std::uint32_t& Recorder::bin(Bins& bins, std::uint32_t quota, double at) {
    const double index = std::max(0.0, at * kBinsPerSecond);
    return bins[quota][std::min(size_ - 1, static_cast<std::size_t>(index))];
}

double Recorder::sum(const Bins& bins, double from, double to, std::uint32_t quota) {
    const auto first = static_cast<std::size_t>(std::llround(std::max(0.0, from) * kBinsPerSecond));
    const auto last = static_cast<std::size_t>(std::llround(std::max(0.0, to) * kBinsPerSecond));
    double sum = 0;
    for (std::uint32_t i = 0; i < bins.size(); ++i) {
        if (quota != kAnyQuota && quota != i) {
            continue;
        }
        for (std::size_t at = first; at < std::min(last, bins[i].size()); ++at) {
            sum += bins[i][at];
        }
    }
    return sum;
}

double Recorder::offered_between(double from, double to, std::uint32_t quota) const {
    return sum(offered_, from, to, quota);
}

double Recorder::admitted_between(double from, double to, std::uint32_t quota) const {
    return sum(admitted_, from, to, quota);
}

Recorder::Range Recorder::admitted_seconds(double from, double to, std::uint32_t quota) const {
    Range range{std::numeric_limits<double>::infinity(), 0};
    constexpr double kStep = 0.1;
    const auto steps = static_cast<int>(std::floor((to - 1 - from) / kStep + 1e-9));
    for (int i = 0; i <= steps; ++i) {
        const double at = from + i * kStep;
        const double admitted = admitted_between(at, at + 1, quota);
        range.least = std::min(range.least, admitted);
        range.most = std::max(range.most, admitted);
    }
    return range;
}

}  // namespace weir::sim
