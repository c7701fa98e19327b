#pragma once
// A request target taken apart: path and query parameters, percent-decoded once. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::admin {

struct Target {
    /// Still encoded: an encoded slash must stay one until the name has been cut out.
    std::string raw_path;
    std::map<std::string, std::string> query;
};

/// "%2F" -> "/"; nothing for a broken escape.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
/// Nothing unless it is in origin form ("/path?a=b") with whole escapes and no parameter twice.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

}  // namespace weir::admin
