#pragma once
// Datagrams of noise, as many a second as told, many of them in one system call: a program in
// Python cannot send a hundred thousand. Counts what the kernel took, and answers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::tools {

struct FloodPlan {
    std::string target;  ///< "127.0.0.1:7946"
    std::uint64_t datagrams = 0;
    double per_second = 0;  ///< at most
    std::size_t longest = 1400;
    std::uint64_t seed = 1;
};

struct FloodResult {
    std::uint64_t sent = 0;
    std::uint64_t answers = 0;
    std::chrono::nanoseconds took{};
};

/// Noise of every length up to `longest`, the same for the same seed.
[[nodiscard]] std::vector<std::string> noise(std::size_t count, std::size_t longest,
                                             std::uint64_t seed);

/// Returns when all were sent, or when it is asked to stop (tools/process.h). Throws
/// std::runtime_error when the target is no address.
[[nodiscard]] FloodResult flood(const FloodPlan& plan);

}  // namespace weir::tools
