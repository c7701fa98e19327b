#pragma once
// Splits a request target into path and query parameters, which are percent-decoded once. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::admin {

struct RequestTarget {
    /// The path is still encoded, so that an encoded slash is no separator when the name is cut
    /// out.
    std::string raw_path;
    std::map<std::string, std::string> query;
};

/// "%2F" -> "/"; nothing for a broken escape.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
/// Parses a target. Nothing unless it is in origin form ("/path?a=b"), its escapes are complete,
/// and no parameter comes twice.
[[nodiscard]] std::optional<RequestTarget> parse_target(std::string_view target);

}  // namespace weir::admin
