#include "http/head_scanner.h"

#include <cstdint>
#include <cstring>

#include "http/characters.h"

namespace weir::http {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighs = 0x8080808080808080U;

/// Whether one of eight bytes is a control byte (a tab counts, the caller looks closer).
bool may_hold_control(std::uint64_t word) {
    const std::uint64_t below_space = (word - kOnes * 0x20U) & ~word & kHighs;
    const std::uint64_t xored = word ^ (kOnes * 0x7fU);
    return (below_space | ((xored - kOnes) & ~xored & kHighs)) != 0;
}

bool is_special(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

/// The first control byte other than a tab at or after `from`; the size without one.
std::size_t find_special(std::string_view bytes, std::size_t from) {
    std::size_t i = from;
    while (i < bytes.size()) {
        if (bytes.size() - i >= sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, bytes.data() + i, sizeof word);
            if (!may_hold_control(word)) {
                i += sizeof word;
                continue;
            }
        }
        if (is_special(bytes[i])) return i;
        ++i;
    }
    return bytes.size();
}

}  // namespace

HeadScanner::State HeadScanner::reject(Rejection rejection) {
    rejection_ = rejection;
    return State::rejected;
}

/// Limits on the first `position_` bytes: the first line comes first.
HeadScanner::State HeadScanner::check_limits(const ScanLimits& limits) {
    if (first_line_end_ == 0 && position_ - start_ > limits.max_first_line) {
        return reject(Rejection::target_too_long);
    }
    if (position_ > limits.max_head) return reject(Rejection::head_too_large);
    return State::need_more;
}

/// Takes note of a line whose CR is at position_ - 2. False when rejected.
bool HeadScanner::line_ended(const ScanLimits& limits) {
    const bool empty = position_ == line_start_ + 2;
    line_start_ = position_;
    if (first_line_end_ == 0) {
        if (!empty) {
            first_line_end_ = position_;
        } else if (limits.skip_leading_empty_line && start_ == 0) {
            start_ = position_;
        } else {
            reject(Rejection::bad_request_line);
        }
    } else if (empty) {
        complete_ = true;
    } else if (++fields_ > limits.max_fields) {
        reject(Rejection::too_many_fields);
    }
    return rejection_ == Rejection::none;
}

HeadScanner::State HeadScanner::scan(std::string_view bytes, const ScanLimits& limits) {
    if (rejection_ != Rejection::none) return State::rejected;
    while (!complete_) {
        if (position_ == line_start_ && position_ < bytes.size() && is_blank(bytes[position_])) {
            return reject(Rejection::folded_field);
        }
        const std::size_t special = find_special(bytes, position_);
        const bool found = special < bytes.size();
        position_ = found ? special + 1 : special;
        if (check_limits(limits) == State::rejected) return State::rejected;
        if (!found) return State::need_more;
        if (bytes[special] == '\n') return reject(Rejection::bare_line_ending);
        if (bytes[special] != '\r') return reject(Rejection::control_byte);
        if (special + 1 == bytes.size()) {
            position_ = special;  // look at the CR again, together with what follows
            return State::need_more;
        }
        if (bytes[special + 1] != '\n') return reject(Rejection::bare_line_ending);
        position_ = special + 2;
        if (check_limits(limits) == State::rejected) return State::rejected;
        if (!line_ended(limits)) return State::rejected;
    }
    return State::complete;
}

}  // namespace weir::http
