#pragma once
// Finds the end of a head and refuses what no strict reader would take, byte by byte as it comes:
// bare CR or LF, control bytes, folded lines, blanks before names, too long lines and heads
// (RFC 9112, 2.2, 2.3 and 5). The verdict depends on the bytes alone, never on how they were cut
// into reads; each byte is looked at once. Not thread-safe; owns nothing.

#include <cstddef>
#include <string_view>

#include "http/rejection.h"

namespace weir::http {

struct ScanLimits {
    std::size_t max_head;
    std::size_t max_first_line;
    std::size_t max_fields;
    bool skip_leading_empty_line;
};

class HeadScanner {
  public:
    enum class State { need_more, complete, rejected };

    void reset() { *this = HeadScanner(); }
    /// `bytes` begins with the first byte of the message and with what was given before.
    State scan(std::string_view bytes, const ScanLimits& limits);

    [[nodiscard]] Rejection rejection() const { return rejection_; }
    /// Offset of the first line behind a skipped empty line.
    [[nodiscard]] std::size_t first_line() const { return start_; }
    /// Offset behind the CRLF of the first line; 0 until it is known.
    [[nodiscard]] std::size_t first_line_end() const { return first_line_end_; }
    /// Bytes of the head with a skipped line and the empty line at its end. Valid when complete.
    [[nodiscard]] std::size_t head_size() const { return position_; }

  private:
    State reject(Rejection rejection);
    State check_limits(const ScanLimits& limits);
    bool line_ended(const ScanLimits& limits);

    std::size_t position_ = 0;    // everything before it has been looked at
    std::size_t start_ = 0;       // of the first line
    std::size_t line_start_ = 0;  // of the line at position_
    std::size_t first_line_end_ = 0;
    std::size_t fields_ = 0;
    bool complete_ = false;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
