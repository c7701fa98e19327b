#include "app/memory_gauge.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace weir::app {
namespace {

/// Control groups of version 1 write a number near 2^63 for "no limit".
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

std::string read_file(const std::string& path) {
    std::ifstream input(path);
    return {std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
}

/// The number at the front of the text; nothing for "max" or any other text.
std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end == text.data()) {
        return std::nullopt;
    }
    return value;
}

/// The value of a line "key value".
std::uint64_t value_of(const std::string& text, const std::string& key) {
    const std::string wanted = "\n" + key + " ";
    const auto at = ("\n" + text).find(wanted);
    if (at == std::string::npos) {
        return 0;
    }
    return number(std::string_view(text).substr(at + key.size() + 1)).value_or(0);
}

struct ControlGroup {
    std::string path;
    bool second_version = false;
};

/// Finds the line "0::/path" (version 2) or "9:memory:/path" (version 1); if both exist, the latter
/// counts.
ControlGroup find_membership(const std::string& own_group) {
    ControlGroup found{"/", true};
    std::istringstream lines(own_group);
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        if (controllers.find(",memory,") != std::string::npos) {
            return {line.substr(second + 1), false};
        }
        if (line.substr(0, second + 1) == "0::") {
            found.path = line.substr(second + 1);
        }
    }
    return found;
}

/// Whether more than `percent` of the limit is used; computed without overflow.
bool exceeds(const MemoryGauge::MemoryReading& reading, std::uint64_t percent) {
    return reading.limit != 0 && reading.used >= reading.limit / 100 * percent;
}

}  // namespace

MemoryGauge::MemoryGauge(KernelFiles places) : places_(std::move(places)) {}

void MemoryGauge::set_limit(std::uint64_t configured) {
    configured_ = configured;
    group_.reset();
    if (configured != 0) {
        return;
    }
    const ControlGroup own = find_membership(read_file(places_.own_group));
    const std::string root = places_.groups + (own.second_version ? "" : "/memory");
    // In a container the path may be that on the host, while the root directory is the container's
    // own group.
    std::string path = own.path == "/" ? "" : own.path;
    for (;;) {
        consider(root + path, own.second_version);
        if (path.empty()) {
            return;
        }
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
}

void MemoryGauge::consider(const std::string& directory, bool second_version) {
    const auto limit =
        number(read_file(directory + (second_version ? "/memory.max" : "/memory.limit_in_bytes")));
    if (!limit || *limit >= kNoLimit || (group_ && group_->limit <= *limit)) {
        return;
    }
    group_ = Group{directory + (second_version ? "/memory.current" : "/memory.usage_in_bytes"),
                   directory + "/memory.stat",
                   second_version ? "inactive_file" : "total_inactive_file", *limit};
}

MemoryGauge::MemoryReading MemoryGauge::read() const {
    if (!group_) {
        return {resident(), configured_};
    }
    const auto used = number(read_file(group_->usage_file)).value_or(0);
    const auto inactive = value_of(read_file(group_->statistics_file), group_->inactive_key);
    return {used - std::min(used, inactive), group_->limit};
}

std::uint64_t MemoryGauge::resident() const {
    const std::string pages = read_file(places_.own_pages);
    const auto blank = pages.find(' ');
    if (blank == std::string::npos) {
        return 0;
    }
    return number(std::string_view(pages).substr(blank + 1)).value_or(0) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

namespace {

/// Memory is short from so many bytes below the limit on. The memory that is taken between two
/// readings must fit into the margin, which under a small limit is more than 5 %.
std::uint64_t margin_of(std::uint64_t limit) {
    constexpr std::uint64_t kLeast = 4 << 20;
    return std::max(limit / 20, kLeast);
}

}  // namespace

std::optional<std::uint64_t> room_left(const MemoryGauge::MemoryReading& reading) {
    if (reading.limit == 0) {
        return std::nullopt;
    }
    // Below two margins memory is no longer short; a third is left for traffic.
    const std::uint64_t taken = reading.used + 3 * margin_of(reading.limit);
    return reading.limit - std::min(reading.limit, taken);
}

bool MemoryPressure::update(const MemoryGauge::MemoryReading& reading) {
    const std::uint64_t margin = margin_of(reading.limit);
    high_ = reading.limit != 0 && reading.used + (high_ ? 2 : 1) * margin >= reading.limit;
    return high_;
}

bool MemoryPressure::is_near(const MemoryGauge::MemoryReading& reading) {
    constexpr std::uint64_t kNear = 70;
    return exceeds(reading, kNear);
}

}  // namespace weir::app
