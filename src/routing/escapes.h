#pragma once
// Percent-encoding (RFC 3986, 2.1). Pure functions, thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace weir::routing {

/// The byte that "%XX" at the front of `text` stands for; nothing if that is no escape.
[[nodiscard]] std::optional<char> decode_escape(std::string_view text);

/// Appends the decoded text. False if it holds a '%' that begins no escape (which is kept).
bool append_decoded(std::string& out, std::string_view text);

/// Whether `encoded`, decoded, is `plain`; without any copy.
[[nodiscard]] bool equals_decoded(std::string_view encoded, std::string_view plain);

/// Nothing in it needs the treatment of append_safe().
[[nodiscard]] bool is_safe(std::string_view value);

/// Appends a captured value such that it cannot be mistaken for anything else in a quota's name:
/// '/', '%', braces, blanks, control bytes and everything beyond ASCII are escaped, and what is
/// longer than 128 bytes then is cut and ends in a hash of the whole value.
void append_safe(std::string& out, std::string_view value);
inline constexpr std::size_t kMaxCapture = 128;

}  // namespace weir::routing
