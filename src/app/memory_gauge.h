#pragma once
// Reads how much memory may be used and how much is used. The limit comes from the settings, or
// from the control group (version 1 or 2) in which the process runs. It reads files of the kernel
// each time it is asked. MemoryPressure decides whether memory is short.
//
// Thread-safety: none. It owns the paths of the files and keeps none of them open.

#include <cstdint>
#include <optional>
#include <string>

namespace weir::app {

class MemoryGauge {
  public:
    /// The kernel's files; tests have others.
    struct KernelFiles {
        std::string groups = "/sys/fs/cgroup";
        std::string own_group = "/proc/self/cgroup";
        std::string own_pages = "/proc/self/statm";
    };
    struct MemoryReading {
        std::uint64_t used = 0;
        std::uint64_t limit = 0;  ///< 0: there is no limit
    };

    explicit MemoryGauge(KernelFiles places);
    MemoryGauge() : MemoryGauge(KernelFiles{}) {}

    /// Sets the limit, in bytes. With 0 the limit of the control group is looked for. Against a
    /// configured limit the resident memory of the process counts; against that of the group all of
    /// its memory but the file pages that the kernel can drop, because the kernel kills the process
    /// by this figure.
    void set_limit(std::uint64_t configured);
    [[nodiscard]] MemoryReading read() const;

  private:
    struct Group {
        std::string usage_file;
        std::string statistics_file;
        std::string inactive_key;
        std::uint64_t limit = 0;
    };

    void consider(const std::string& directory, bool second_version);
    [[nodiscard]] std::uint64_t resident() const;

    KernelFiles places_;
    std::uint64_t configured_ = 0;
    std::optional<Group> group_;
};

/// How many bytes more may be taken for what stays, such as definitions of quotas: so many that
/// memory does not become short by them, and traffic has room to grow. Nothing without a limit.
[[nodiscard]] std::optional<std::uint64_t> room_left(const MemoryGauge::MemoryReading& reading);

/// Decides whether memory is short: from 95 % of the limit on, or 4 MiB below it, until the use is
/// below 90 %, or 8 MiB below the limit.
class MemoryPressure {
  public:
    /// Whether memory is short now.
    bool update(const MemoryGauge::MemoryReading& reading);
    [[nodiscard]] bool is_high() const { return high_; }
    /// Whether the use is so close to the limit that it should be read more often.
    [[nodiscard]] static bool is_near(const MemoryGauge::MemoryReading& reading);

  private:
    bool high_ = false;
};

}  // namespace weir::app
