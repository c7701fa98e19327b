#pragma once
// The request methods that a proxy has to tell apart. Pure functions, thread-safe.

#include <cstdint>
#include <string_view>

namespace weir::http {

enum class Method : std::uint8_t { other, get, head, post, put, delete_, options, patch };
inline constexpr unsigned kMethods = static_cast<unsigned>(Method::patch) + 1;

/// The method of that name, else `other`. Case matters (RFC 9110, 9.1).
[[nodiscard]] Method method_of(std::string_view name);

}  // namespace weir::http
