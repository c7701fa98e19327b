#pragma once
// What the readers of the flags of `weir quota set` share: quota_edit.cpp has those of a quota's
// fields, limit_edit.cpp those of its limits. Private to these two. Pure functions.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/closest.h"
#include "base/result.h"
#include "definitions/fields.h"

namespace weir::app {

/// The texts that remove a value.
inline constexpr std::string_view kDefault = "default";
inline constexpr std::string_view kNone = "none";

/// What is wrong with the text of a flag.
inline Error bad_flag(std::string_view flag, const std::string& what) {
    return error(ErrorCode::invalid_argument, "--" + std::string(flag) + ": " + what);
}

/// The index of a word in a list.
inline Result<std::size_t> parse_word(std::string_view flag, const std::string& text,
                                      std::span<const std::string_view> words) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) {
        return static_cast<std::size_t>(found - words.begin());
    }
    std::string list;
    for (const std::string_view word : words) {
        list += (list.empty() ? "" : " or ") + std::string(word);
    }
    const std::string_view guess = closest(text, words);
    const std::string meant = guess.empty() ? "" : ", did you mean '" + std::string(guess) + "'?";
    return bad_flag(flag, "'" + text + "' must be " + list + meant);
}

/// A field of T that takes one word of a list.
template <class T>
Result<void> edit_word(std::string_view flag, const std::string& text,
                       const definitions::WordValue<T>& value, T& target) {
    const auto word = parse_word(flag, text, value.words);
    if (!word) {
        return word.error();
    }
    value.set(target, *word);
    return {};
}

}  // namespace weir::app
