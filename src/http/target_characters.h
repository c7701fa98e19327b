#pragma once
// Which bytes a path or a query may hold (RFC 3986, 3.3 and 3.4). Percent-escapes are not decoded
// here; routing judges what they stand for. Pure functions, thread-safe.

#include <string_view>

namespace weir::http {

[[nodiscard]] bool is_valid_path(std::string_view path, bool browser_characters);
[[nodiscard]] bool is_valid_query(std::string_view query, bool browser_characters);

}  // namespace weir::http
