#pragma once
// The version of this program, the commit of its source, its compiler and the kind of build, as the
// build has set them. Constants.

#include <string_view>

namespace weir::node {

inline constexpr std::string_view kVersion = WEIR_VERSION;
#ifdef __clang__
inline constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
inline constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

/// The commit, or "unknown" if the build had no repository.
[[nodiscard]] std::string_view revision();
/// The kind of build, such as "Release", and the sanitizers in it.
[[nodiscard]] std::string_view build();

}  // namespace weir::node
