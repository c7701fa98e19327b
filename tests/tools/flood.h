#pragma once
// Sends datagrams of noise at a given rate, many in one system call, because a program in Python
// cannot send a hundred thousand a second. Counts the datagrams that the kernel took, and the
// answers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::tools {

struct FloodPlan {
    std::string target;  ///< "127.0.0.1:7946"
    std::uint64_t datagrams = 0;
    double per_second = 0;  ///< the highest rate
    std::size_t longest = 1400;
    std::uint64_t seed = 1;
};

struct FloodResult {
    std::uint64_t sent = 0;
    std::uint64_t answers = 0;
    std::chrono::nanoseconds took{};
};

/// Noise of every length up to `longest`; a seed always gives the same.
[[nodiscard]] std::vector<std::string> noise(std::size_t count, std::size_t longest,
                                             std::uint64_t seed);

/// Returns when all datagrams were sent or when the process is asked to stop (tools/process.h).
/// Throws std::runtime_error when the target is not an address.
[[nodiscard]] FloodResult flood(const FloodPlan& plan);

}  // namespace weir::tools
