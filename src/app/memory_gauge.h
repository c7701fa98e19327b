#pragma once
// How much memory may be used and how much is, from the settings or from the control group that
// the process runs in, version 1 or 2. Reads files when asked and decides nothing else.
// Not thread-safe.

#include <cstdint>
#include <optional>
#include <string>

namespace weir::app {

class MemoryGauge {
  public:
    /// Where the kernel tells it; other places in tests.
    struct Places {
        std::string groups = "/sys/fs/cgroup";
        std::string own_group = "/proc/self/cgroup";
        std::string own_pages = "/proc/self/statm";
    };
    struct Reading {
        std::uint64_t used = 0;
        std::uint64_t limit = 0;  ///< 0: none
    };

    explicit MemoryGauge(Places places);
    MemoryGauge() : MemoryGauge(Places{}) {}

    /// Looks for the control group's limit unless `configured` is one. With a configured limit the
    /// process' resident memory counts, else what the kernel would count before it kills: all of
    /// the group but file pages that it can drop.
    void set_limit(std::uint64_t configured);
    [[nodiscard]] Reading read() const;

  private:
    struct Group {
        std::string usage_file;
        std::string statistics_file;
        std::string inactive_key;
        std::uint64_t limit = 0;
    };

    void consider(const std::string& directory, bool second_version);
    [[nodiscard]] std::uint64_t resident() const;

    Places places_;
    std::uint64_t configured_ = 0;
    std::optional<Group> group_;
};

/// From 95 % of the limit on, or 4 MiB below it, until it is below 90 %, or 8 MiB below.
class MemoryPressure {
  public:
    /// Whether memory is short now.
    bool update(const MemoryGauge::Reading& reading);
    [[nodiscard]] bool is_high() const { return high_; }
    /// Close enough to the limit to look more often.
    [[nodiscard]] static bool is_near(const MemoryGauge::Reading& reading);

  private:
    bool high_ = false;
};

}  // namespace weir::app
