#pragma once
// The version of this program, its source revision and its compiler, as the build has set them.

#include <string_view>

namespace weir::node {

inline constexpr std::string_view kVersion = WEIR_VERSION;
inline constexpr std::string_view kRevision = WEIR_REVISION;
inline constexpr std::string_view kCompiler = __VERSION__;

}  // namespace weir::node
