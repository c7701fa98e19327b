#pragma once
// Characters and texts: classes of ASCII characters, tokens (RFC 9110, 5.6.2), blanks around a
// text, and characters of UTF-8. Pure functions, thread-safe.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alphanumeric(char c) { return is_digit(c) || is_upper(c) || is_lower(c); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// A set of characters as a table.
class CharacterSet {
  public:
    /// Letters, digits and the characters of `others`.
    explicit constexpr CharacterSet(std::string_view others) {
        for (unsigned c = 0; c < 128; ++c) {
            member_[c] = is_alphanumeric(static_cast<char>(c));
        }
        for (const char c : others) {
            member_[static_cast<unsigned char>(c)] = true;
        }
    }
    [[nodiscard]] constexpr bool contains(char c) const {
        return member_[static_cast<unsigned char>(c)];
    }
    /// How many of the first characters are in the set.
    [[nodiscard]] constexpr std::size_t prefix_of(std::string_view text) const {
        const char* const c = text.data();
        std::size_t size = 0;
        // All four at once, without a branch after each of them.
        const auto bit = [&](std::size_t at) { return static_cast<unsigned>(contains(c[at])); };
        while (text.size() - size >= 4 &&
               (bit(size) & bit(size + 1) & bit(size + 2) & bit(size + 3)) != 0) {
            size += 4;
        }
        while (size < text.size() && contains(c[size])) {
            ++size;
        }
        return size;
    }
    [[nodiscard]] constexpr bool contains_all(std::string_view text) const {
        return prefix_of(text) == text.size();
    }

  private:
    std::array<bool, 256> member_{};
};

/// The characters of a token (RFC 9110, 5.6.2).
inline constexpr CharacterSet kTokenCharacters("!#$%&'*+-.^_`|~");
constexpr bool is_token_character(char c) { return kTokenCharacters.contains(c); }

constexpr bool is_token(std::string_view text) {
    return !text.empty() && kTokenCharacters.contains_all(text);
}

/// A copy of the text with other capitals.
[[nodiscard]] std::string in_lower_case(std::string_view text);
[[nodiscard]] std::string in_upper_case(std::string_view text);

/// The text without the blanks around it.
constexpr std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// A line without the blanks around it and the CR that some systems put at its end.
constexpr std::string_view trim_line(std::string_view line) {
    line = trim(line);
    return line.ends_with('\r') ? trim(line.substr(0, line.size() - 1)) : line;
}

/// The number of bytes of the UTF-8 character at the front of the text, which must not be empty; 0
/// when it is malformed or cut off (RFC 3629: no overlong forms, no surrogates, nothing above
/// U+10FFFF).
[[nodiscard]] std::size_t character_length(std::string_view text);

}  // namespace weir
