#pragma once
// Appends the pieces of an answer to a string. Room is made ahead, so that a piece whose length the
// compiler knows is copied in place, without a call: a refusal has some forty pieces, and to append
// each to the string takes more time than all else in it. Borrows the string, which has its final
// size only when the AnswerText has ended, and of which no part may be appended to itself; not
// thread-safe.
//
// Invariant: the answer is the string up to `at_`; from there to `end_` is room.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace weir::http {

class AnswerText {
  public:
    /// `expected` is about how long the answer will be; it may become longer.
    AnswerText(std::string& out, std::size_t expected) : out_(out), step_(expected) {
        grow(out.size(), expected);
    }
    ~AnswerText() { out_.resize(size()); }
    AnswerText(const AnswerText&) = delete;
    AnswerText& operator=(const AnswerText&) = delete;

    /// Appends a literal. Other arrays may hold less than they have room for.
    template <std::size_t kSize>
    AnswerText& operator+=(char (&text)[kSize]) = delete;
    template <std::size_t kSize>
    [[gnu::always_inline]] AnswerText& operator+=(const char (&text)[kSize]) {
        make_room(kSize - 1);
        std::memcpy(at_, text, kSize - 1);
        at_ += kSize - 1;
        return *this;
    }
    AnswerText& operator+=(std::string_view text) {
        make_room(text.size());
        at_ = std::copy(text.begin(), text.end(), at_);
        return *this;
    }
    AnswerText& operator+=(char c) {
        make_room(1);
        *at_++ = c;
        return *this;
    }
    AnswerText& operator+=(std::uint64_t number) {
        make_room(kDigits);
        at_ = std::to_chars(at_, end_, number).ptr;
        return *this;
    }
    /// The length of the string with what was appended.
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - out_.data()); }
    /// Writes a number at a place before the end; what follows it moves.
    void insert(std::size_t place, std::uint64_t number) {
        WEIR_ASSERT(place <= size());
        std::array<char, kDigits> digits;
        const char* const end =
            std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        const auto length = static_cast<std::size_t>(end - digits.data());
        make_room(length);
        char* const to = out_.data() + place;
        std::memmove(to + length, to, size() - place);
        std::memcpy(to, digits.data(), length);
        at_ += length;
    }
    /// Drops what was appended behind this length.
    void cut(std::size_t length) {
        WEIR_ASSERT(length <= size());
        at_ = out_.data() + length;
    }

  private:
    static constexpr std::size_t kDigits = 20;  // of the largest number

    [[gnu::always_inline]] void make_room(std::size_t length) {
        if (static_cast<std::size_t>(end_ - at_) < length) [[unlikely]] {
            grow(size(), length);
        }
    }
    [[gnu::noinline]] void grow(std::size_t used, std::size_t length) {
        out_.resize(used + std::max(length, step_));
        at_ = out_.data() + used;
        end_ = out_.data() + out_.size();
    }

    std::string& out_;
    std::size_t step_;
    char* at_ = nullptr;  // where the next character goes
    char* end_ = nullptr;
};

}  // namespace weir::http
