#include "http/head_scanner.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/characters.h"
#include "base/planted.h"
#include "http/words.h"

namespace weir::http {
namespace {

bool is_special(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

#ifdef __SSE2__

/// Has bit i set if byte i of sixteen is a control byte other than a tab.
unsigned specials(const char* bytes) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m128i below_space = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
    const __m128i tab = _mm_cmpeq_epi8(block, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f));
    const __m128i found = _mm_or_si128(_mm_andnot_si128(tab, below_space), del);
    return static_cast<unsigned>(_mm_movemask_epi8(found));
}

/// Searches whole blocks from `from` on. Returns the offset of the first special byte, or of the
/// rest that is shorter than a block.
inline std::size_t skip_blocks(std::string_view bytes, std::size_t from) {
    for (; bytes.size() - from >= 16; from += 16) {
        const unsigned found = specials(bytes.data() + from);
        if (found != 0) {
            return from + static_cast<unsigned>(std::countr_zero(found));
        }
    }
    return from;
}

#else

/// Whether one of eight bytes is a control byte. A tab counts as one; the caller looks at single
/// bytes.
bool may_hold_control(std::uint64_t word) {
    const std::uint64_t below_space = (word - kOnes * 0x20U) & ~word & kHighs;
    return below_space != 0 || holds_zero(word ^ (kOnes * 0x7fU));
}

inline std::size_t skip_blocks(std::string_view bytes, std::size_t from) {
    while (bytes.size() - from >= 8 &&
           !may_hold_control(load<std::uint64_t>(bytes.data() + from))) {
        from += 8;
    }
    return from;
}

#endif

/// The offset of the first control byte other than a tab at or after `from`; the size if there is
/// none.
inline std::size_t find_special(std::string_view bytes, std::size_t from) {
    for (std::size_t i = from;; ++i) {
        i = skip_blocks(bytes, i);
        if (i >= bytes.size() || is_special(bytes[i])) {
            return i;
        }
    }
}

}  // namespace

HeadScanner::State HeadScanner::reject(Rejection rejection) {
    rejection_ = rejection;
    return State::rejected;
}

/// Checks the limits on the first `position_` bytes. That of the first line is checked first.
HeadScanner::State HeadScanner::check_limits(const ScanLimits& limits) {
    if (first_line_end_ == 0 && position_ - start_ > limits.max_first_line) {
        return reject(Rejection::target_too_long);
    }
    if (position_ > limits.max_head) {
        return reject(Rejection::head_too_large);
    }
    return State::need_more;
}

/// Notes a line whose CR is at position_ - 2. False when the head is rejected.
bool HeadScanner::line_ended(const ScanLimits& limits, Fields& fields) {
    const std::size_t begin = line_start_;
    const bool empty = position_ == begin + 2;
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
        fields.end(begin);
    } else if (++fields_ > limits.max_fields) {
        reject(Rejection::too_many_fields);
    } else if (!fields.add_line(begin, position_ - 2)) {
        lines_are_good_ = false;
    }
    return rejection_ == Rejection::none;
}

HeadScanner::State HeadScanner::scan(std::string_view bytes, const ScanLimits& limits,
                                     Fields& fields) {
    if (rejection_ != Rejection::none) {
        return State::rejected;
    }
    fields.rebase(bytes.data());
    // Once the first line is known, the bytes before this offset can exceed no limit but that on
    // the number of fields.
    const std::size_t within_limits = std::min(bytes.size(), limits.max_head);
    while (!complete_) {
        if (position_ == line_start_ && position_ < bytes.size() && is_blank(bytes[position_])) {
            return reject(Rejection::folded_field);
        }
        const std::size_t special = find_special(bytes, position_);
        if (first_line_end_ != 0 && special + 2 <= within_limits && bytes[special] == '\r' &&
            bytes[special + 1] == '\n') {
            position_ = special + 2;
            if (!line_ended(limits, fields)) {
                return State::rejected;
            }
            continue;
        }
        const bool found = special < bytes.size();
        position_ = found ? special + 1 : special;
        if (check_limits(limits) == State::rejected) {
            return State::rejected;
        }
        if (!found) {
            return State::need_more;
        }
        if (bytes[special] == '\n') {
            return reject(Rejection::bare_line_ending);
        }
        if (bytes[special] != '\r') {
            return reject(Rejection::control_byte);
        }
        if (special + 1 == bytes.size()) {
            // The next call looks at the CR again, together with the byte behind it.
            if (!planted(Planted::head_cut)) {
                position_ = special;
            }
            return State::need_more;
        }
        if (bytes[special + 1] != '\n') {
            return reject(Rejection::bare_line_ending);
        }
        position_ = special + 2;
        if (check_limits(limits) == State::rejected) {
            return State::rejected;
        }
        if (!line_ended(limits, fields)) {
            return State::rejected;
        }
    }
    return State::complete;
}

}  // namespace weir::http
