#pragma once
// Reads what the kernel knows of this process (/proc/self), for the process_* metrics. Plain values
// and functions without state, which may be called by every thread; those that are not marked pure
// read files and so block.

#include <optional>
#include <string_view>

namespace weir::admin {

struct ProcessFigures {
    double cpu_seconds = 0;
    double virtual_bytes = 0;
    double resident_bytes = 0;
    double start_time_seconds = 0;  // Unix time
    double open_descriptors = 0;
    double max_descriptors = 0;
};

/// What is needed to turn the kernel's numbers into seconds and bytes.
struct KernelUnits {
    double ticks_per_second = 100;
    double page_bytes = 4096;
    double boot_time_seconds = 0;
};

/// Reads the text of /proc/self/stat, whose second field may hold blanks and parentheses. Pure.
[[nodiscard]] std::optional<ProcessFigures> parse_stat(std::string_view stat,
                                                       const KernelUnits& units);
/// The Unix time at which the machine was started, from the line btime of /proc/stat; 0 if there is
/// none. Pure.
[[nodiscard]] double parse_boot_time(std::string_view stat);

/// The figures of this moment; nothing when /proc cannot be read.
[[nodiscard]] std::optional<ProcessFigures> read_process_figures();

}  // namespace weir::admin
