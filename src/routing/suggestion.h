#pragma once
// The name that was probably meant. Pure functions.

#include <span>
#include <string>
#include <string_view>

namespace weir::routing {

/// The nearest candidate by edits, if it is near enough; empty otherwise.
[[nodiscard]] std::string suggest(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace weir::routing
