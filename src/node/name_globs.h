#pragma once
// Compares names with captures, such as those of routes and those of quotas, which call the same
// part of a name by different words. Pure functions, thread-safe.

#include <string>
#include <string_view>

namespace weir::node {

/// The text with a wildcard for each capture, which matches one or more characters.
[[nodiscard]] std::string to_glob(std::string_view text);

/// Whether some name matches both of these results of to_glob(). Takes time by the product of their
/// lengths, at most.
[[nodiscard]] bool can_meet(std::string_view left, std::string_view right);

}  // namespace weir::node
