#pragma once
// Measures the CPU time of this thread, and sums up the times of several rounds.

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

inline double cpu_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Is given results, so that the compiler cannot leave out the work that makes them.
inline std::atomic<std::size_t> sink{0};

struct Quartiles {
    double low, median, high;
};
inline Quartiles quartiles(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

/// Runs the work and adds the time that it took.
template <class Work>
void timed(double& sum, Work work) {
    const double begin = cpu_nanoseconds();
    const std::size_t result = work();
    sum += cpu_nanoseconds() - begin;
    sink.fetch_add(result, std::memory_order_relaxed);
}
