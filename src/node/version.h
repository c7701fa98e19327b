#pragma once
// What this program is: set by the build.

#include <string_view>

namespace weir::node {

inline constexpr std::string_view kVersion = WEIR_VERSION;
inline constexpr std::string_view kRevision = WEIR_REVISION;
inline constexpr std::string_view kCompiler = __VERSION__;

}  // namespace weir::node
