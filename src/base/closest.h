#pragma once
// Guesses which of some names a mistyped one was meant to be, for the suggestions of error
// messages.
//
// Pure functions, thread-safe.

#include <cstddef>
#include <span>
#include <string_view>

namespace weir {

/// How many letters of candidates the suggestions of one text may compare, which takes a few
/// milliseconds: enough for dozens of mistakes among a thousand names, and for a few among ten
/// thousand.
inline constexpr std::size_t kLettersForSuggestions = std::size_t{1} << 20;

/// The candidate that was probably meant by `text`, the first one of those that are equally near;
/// empty if none is near. At most a third of the letters may differ, at least one and at most
/// three, where two swapped neighbours count as one difference (Damerau 1964; each letter is moved
/// only once). If none is near, the only candidate that begins with `text` is meant, where `text`
/// has at least three letters. Texts of one byte, and texts and candidates of more than 512, are
/// passed over.
[[nodiscard]] std::string_view closest(std::string_view text,
                                       std::span<const std::string_view> candidates);

/// The same, for a text that may have many mistakes: takes the letters of which it counts the
/// differences from `letters_left`. When none is left, it only looks for the candidate that begins
/// with `text`. So suggestions for a thousand mistakes cost no more than for some dozens.
[[nodiscard]] std::string_view closest(std::string_view text,
                                       std::span<const std::string_view> candidates,
                                       std::size_t& letters_left);

}  // namespace weir
