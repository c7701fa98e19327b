#include "admin/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace weir::admin {
namespace {

std::string read_file(const char* path) {
    std::ifstream input(path);
    return {std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> fields;
    while (!text.empty()) {
        const auto end = text.find_first_of(" \n");
        if (end != 0) {
            fields.push_back(text.substr(0, end));
        }
        if (end == std::string_view::npos) {
            break;
        }
        text.remove_prefix(end + 1);
    }
    return fields;
}

double to_number(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

double count_descriptors() {
    std::error_code failure;
    std::filesystem::directory_iterator entry("/proc/self/fd", failure);
    double count = 0;
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        ++count;
    }
    return count;
}

double max_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    return static_cast<double>(limit.rlim_cur);
}

/// Read once, because it never changes and /proc/stat is long on a large machine.
double boot_time() {
    static const double kBootTime = parse_boot_time(read_file("/proc/stat"));
    return kBootTime;
}

}  // namespace

std::optional<ProcessFigures> parse_stat(std::string_view stat, const KernelUnits& units) {
    const auto name_end = stat.rfind(')');
    if (name_end == std::string_view::npos) {
        return std::nullopt;
    }
    // Field 0 here is the third field of proc(5), the first one after the name.
    const auto fields = split(stat.substr(name_end + 1));
    constexpr std::size_t kUserTime = 11;
    constexpr std::size_t kSystemTime = 12;
    constexpr std::size_t kStartTime = 19;
    constexpr std::size_t kVirtual = 20;
    constexpr std::size_t kResident = 21;
    if (fields.size() <= kResident) {
        return std::nullopt;
    }
    ProcessFigures figures;
    figures.cpu_seconds =
        (to_number(fields[kUserTime]) + to_number(fields[kSystemTime])) / units.ticks_per_second;
    figures.start_time_seconds =
        units.boot_time_seconds + to_number(fields[kStartTime]) / units.ticks_per_second;
    figures.virtual_bytes = to_number(fields[kVirtual]);
    figures.resident_bytes = to_number(fields[kResident]) * units.page_bytes;
    return figures;
}

double parse_boot_time(std::string_view stat) {
    constexpr std::string_view kKey = "\nbtime ";
    const auto at = stat.find(kKey);
    return at == std::string_view::npos ? 0 : to_number(stat.substr(at + kKey.size()));
}

std::optional<ProcessFigures> read_process_figures() {
    const KernelUnits units{.ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK)),
                            .page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE)),
                            .boot_time_seconds = boot_time()};
    auto figures = parse_stat(read_file("/proc/self/stat"), units);
    if (figures) {
        figures->open_descriptors = count_descriptors();
        figures->max_descriptors = max_descriptors();
    }
    return figures;
}

}  // namespace weir::admin
