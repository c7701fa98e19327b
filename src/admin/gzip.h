#pragma once
// Compresses answers with gzip when a client asks for it with Accept-Encoding. The functions are
// pure.

#include <optional>
#include <string>
#include <string_view>

namespace weir::admin {

/// Whether the field lists gzip or *, and not with q=0 (RFC 9110, 12.5.3).
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);
/// The compressed text; nothing if zlib gets no memory.
[[nodiscard]] std::optional<std::string> gzip(std::string_view text);

}  // namespace weir::admin
