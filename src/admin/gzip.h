#pragma once
// gzip for answers that are asked for with Accept-Encoding. Pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace weir::admin {

/// gzip or * is listed, and not with q=0 (RFC 9110, 12.5.3).
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);
/// Nothing if zlib cannot get its memory.
[[nodiscard]] std::optional<std::string> gzip(std::string_view text);

}  // namespace weir::admin
