#pragma once
// Compares names with captures, such as those of routes and those of quotas, which call the same
// part of a name by different words. Pure functions, thread-safe.

#include <string>
#include <string_view>

namespace weir::node {

/// The text with a wildcard for each capture, which matches one or more characters.
[[nodiscard]] std::string to_glob(std::string_view text);

/// Whether some name matches both of these results of to_glob(). Segments are compared one after
/// the other, and most names differ in one without a wildcard. A segment with wildcards, and all
/// that follows a catch-all, takes time by the product of both lengths.
[[nodiscard]] bool can_meet(std::string_view left, std::string_view right);

}  // namespace weir::node
