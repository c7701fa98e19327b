#pragma once
// Request methods with a meaning for a proxy. Pure functions, thread-safe.

#include <cstdint>
#include <string_view>

namespace weir::http {

enum class Method : std::uint8_t { other, get, head, post, put, delete_, options, patch };
inline constexpr unsigned kMethods = static_cast<unsigned>(Method::patch) + 1;

/// Upper and lower case are told apart (RFC 9110, 9.1).
[[nodiscard]] Method method_of(std::string_view name);

}  // namespace weir::http
