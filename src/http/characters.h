#pragma once
// Character classes and lists of RFC 9110, 5.6, for the sources of http and routing. Pure
// functions, thread-safe.

#include <array>
#include <cstddef>
#include <string_view>

namespace weir::http {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alphanumeric(char c) { return is_digit(c) || is_upper(c) || is_lower(c); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
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

constexpr std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// Calls visit(element) for each element of a comma-separated list, without the blanks around it.
/// Empty elements are skipped (RFC 9110, 5.6.1.2).
template <class Visit>
constexpr void for_each_element(std::string_view list, Visit visit) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        const auto element = trim(list.substr(0, comma));
        if (!element.empty()) {
            visit(element);
        }
        if (comma == std::string_view::npos) {
            return;
        }
        list.remove_prefix(comma + 1);
    }
}

}  // namespace weir::http
