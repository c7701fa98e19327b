#pragma once
// Percent-encoding (RFC 3986, 2.1). Pure functions, thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace weir::routing {

/// The byte that the escape "%XX" at the beginning of `text` stands for; nothing if there is no
/// escape.
[[nodiscard]] std::optional<char> decode_escape(std::string_view text);

/// Appends the decoded text. A '%' that begins no escape is kept; then the result is false.
bool append_decoded(std::string& out, std::string_view text);

/// Whether decoding `encoded` gives `plain`. Copies nothing.
[[nodiscard]] bool equals_decoded(std::string_view encoded, std::string_view plain);

/// Whether append_safe() would append the value unchanged.
[[nodiscard]] bool is_safe(std::string_view value);

/// Appends a captured value in a form that cannot be confused with other parts of a quota's name:
/// '/', '%', braces, blanks, control bytes and everything beyond ASCII are escaped. A result of
/// more than kMaxCapture bytes is cut and ends in a hash of the whole value.
void append_safe(std::string& out, std::string_view value);
inline constexpr std::size_t kMaxCapture = 128;

}  // namespace weir::routing
