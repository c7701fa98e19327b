#pragma once
// The one pass over a head, while its bytes arrive: finds its lines and its end, fills the table of
// fields, and rejects what no strict reader accepts: bare CR or LF, control bytes, folded lines,
// blanks before names, lines and heads that are too long (RFC 9112, 2.2, 2.3 and 5). Each byte is
// looked at once, and the result depends on the bytes alone, not on how they were divided among the
// calls. A malformed field line is told at the end of the head (lines_are_good()), because a later
// control byte is the better reason. Tests compare heads with another parser (tests/http/oracle.h).
// Not thread-safe; owns nothing.

#include <cstddef>
#include <string_view>

#include "http/fields.h"
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

    /// `bytes` is everything received since the first byte of the message: the bytes of the last
    /// call and what has come since. `fields` receives the field lines that have come whole; it is
    /// the same, and was empty at the first call.
    State scan(std::string_view bytes, const ScanLimits& limits, Fields& fields);

    [[nodiscard]] Rejection rejection() const { return rejection_; }
    /// Offset of the first line: 2 if an empty line was skipped, else 0.
    [[nodiscard]] std::size_t first_line() const { return start_; }
    /// Offset behind the CRLF of the first line; 0 until it is known.
    [[nodiscard]] std::size_t first_line_end() const { return first_line_end_; }
    /// Bytes of the head, with a skipped empty line in front and the empty line at its end. Valid
    /// when complete.
    [[nodiscard]] std::size_t head_size() const { return position_; }
    /// Whether every field line is a name, a colon and a value. Valid when complete.
    [[nodiscard]] bool lines_are_good() const { return lines_are_good_; }

  private:
    State reject(Rejection rejection);
    State check_limits(const ScanLimits& limits);
    bool line_ended(const ScanLimits& limits, Fields& fields);

    std::size_t position_ = 0;    // all bytes before this offset have been looked at
    std::size_t start_ = 0;       // offset of the first line
    std::size_t line_start_ = 0;  // offset of the line in which position_ is
    std::size_t first_line_end_ = 0;
    std::size_t fields_ = 0;
    bool complete_ = false;
    bool lines_are_good_ = true;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
