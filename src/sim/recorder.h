#pragma once
// Counts the requests of a story that were offered and admitted, in bins of 10 ms. Not thread-safe.
// It owns its counts.

#include <cstdint>
#include <vector>

namespace weir::sim {

class Recorder {
  public:
    Recorder(std::size_t quotas, double seconds);
    void offered(std::uint32_t quota, double at) { ++bin(offered_, quota, at); }
    void admitted(std::uint32_t quota, double at) { ++bin(admitted_, quota, at); }

    /// Counts between two times in seconds of the story, for one quota or, with kAnyQuota, for all.
    static constexpr std::uint32_t kAnyQuota = ~0u;
    [[nodiscard]] double offered_between(double from, double to, std::uint32_t quota) const;
    [[nodiscard]] double admitted_between(double from, double to, std::uint32_t quota) const;

    struct Range {
        double least = 0;
        double most = 0;
    };
    /// The smallest and the largest number admitted in a sliding window of one second (with a step
    /// of 0.1 s) between the two times.
    [[nodiscard]] Range admitted_seconds(double from, double to, std::uint32_t quota) const;

  private:
    using Bins = std::vector<std::vector<std::uint32_t>>;
    [[nodiscard]] std::uint32_t& bin(Bins& bins, std::uint32_t quota, double at);
    [[nodiscard]] static double sum(const Bins& bins, double from, double to, std::uint32_t quota);

    std::size_t size_;
    Bins offered_;
    Bins admitted_;
};

}  // namespace weir::sim
