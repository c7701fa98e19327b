#pragma once
// Guesses which name a mistyped one was meant to be. Pure functions, thread-safe.

#include <span>
#include <string>
#include <string_view>

namespace weir::routing {

/// The candidate with the smallest Levenshtein distance, if that is below a third of the length
/// plus 2; else empty.
[[nodiscard]] std::string suggest(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace weir::routing
