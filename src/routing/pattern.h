#pragma once
// Patterns of paths and hosts, compiled once: segments (labels) that are literal, "*" or a capture
// "{name}", each perhaps with literal text around it, and "**" for any number of segments (at the
// end of a path, at the front of a host). Matching costs one comparison per segment. Immutable
// after compiling, thread-safe.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "routing/normal_path.h"

namespace weir::routing {

struct PatternError {
    std::size_t column = 0;  ///< 1-based
    std::string message;
};

inline constexpr std::size_t kMaxCaptures = 16;  ///< of one route

/// The captures of one route: their names, in the order of their indexes.
using CaptureNames = std::vector<std::string>;
/// What was captured, by index.
using Captures = std::array<std::string_view, kMaxCaptures>;

struct SegmentPattern {
    std::string prefix;
    std::string suffix;
    bool wildcard = false;
    std::optional<std::size_t> capture;

    [[nodiscard]] bool fits(std::string_view segment) const {
        if (!wildcard) {
            return segment == prefix;
        }
        return segment.size() > prefix.size() + suffix.size() && segment.starts_with(prefix) &&
               segment.ends_with(suffix);
    }
    [[nodiscard]] bool match(std::string_view segment, Captures& captures) const;
};

struct PathPattern {
    std::vector<SegmentPattern> segments;
    bool open_end = false;  ///< "**"

    [[nodiscard]] bool match(const NormalPath& path, Captures& captures) const;
};

struct HostPattern {
    std::vector<SegmentPattern> labels;
    bool open_front = false;

    /// `host` is normal.
    [[nodiscard]] bool match(std::string_view host, Captures& captures) const;
};

/// New captures are added to `names`; one that is there already is an error in a path, and the same
/// capture in a host (each of a route's hosts may define it).
[[nodiscard]] std::variant<PathPattern, PatternError> compile_path(std::string_view text,
                                                                   CaptureNames& names);
[[nodiscard]] std::variant<HostPattern, PatternError> compile_host(std::string_view text,
                                                                   CaptureNames& names);

}  // namespace weir::routing
