#pragma once
// Patterns of paths and hosts, compiled once. A pattern has segments (of hosts: labels). A segment
// is literal text, or one "*" or capture "{name}", which may have literal text around it. "**" at
// the end of a path stands for any number of segments, also none; at the front of a host it stands
// for one label or more. Matching costs one comparison per segment. Immutable once compiled,
// thread-safe. Compiled patterns own their texts.

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
    std::string suggestion{};  ///< the text that was probably meant; may be empty
};

inline constexpr std::size_t kMaxCaptures = 16;  ///< of one route

/// The names of one route's captures; a capture's index is its place in this list. At most
/// kMaxCaptures.
using CaptureNames = std::vector<std::string>;
/// The captured values of one request, by index. They are views of its path or host. Captures that
/// the route does not have are not written.
using Captures = std::array<std::string_view, kMaxCaptures>;

/// One segment: `prefix` alone, or any text that is not empty between `prefix` and `suffix`.
struct SegmentPattern {
    std::string prefix;
    std::string suffix;
    bool wildcard = false;               ///< the segment contains "*" or a capture
    std::optional<std::size_t> capture;  ///< its index; nothing for "*" and literal text

    /// Whether the segment matches, whatever it captures.
    [[nodiscard]] bool fits(std::string_view segment) const {
        if (!wildcard) {
            return segment == prefix;
        }
        return segment.size() > prefix.size() + suffix.size() && segment.starts_with(prefix) &&
               segment.ends_with(suffix);
    }
    /// Like fits(), and writes what is captured.
    [[nodiscard]] bool match(std::string_view segment, Captures& captures) const;
};

struct PathPattern {
    std::vector<SegmentPattern> segments;
    bool open_end = false;  ///< the pattern ends in "**"

    /// If the path does not match, captures may have been written all the same.
    [[nodiscard]] bool match(const NormalPath& path, Captures& captures) const;
};

struct HostPattern {
    std::vector<SegmentPattern> labels;
    bool open_front = false;  ///< the pattern begins with "**"

    /// `host` is in normal form (append_normal_host()). If it does not match, captures may have
    /// been written all the same.
    [[nodiscard]] bool match(std::string_view host, Captures& captures) const;
};

/// Whether a capture may be called so: letters, digits, '_' and '-'.
[[nodiscard]] bool is_capture_name(std::string_view name);

/// Compile a pattern and add its captures to `names`. A name that is there already is an error. A
/// route's hosts are compiled with a list of their own each, because each defines the same names.
[[nodiscard]] std::variant<PathPattern, PatternError> compile_path(std::string_view text,
                                                                   CaptureNames& names);
[[nodiscard]] std::variant<HostPattern, PatternError> compile_host(std::string_view text,
                                                                   CaptureNames& names);

}  // namespace weir::routing
