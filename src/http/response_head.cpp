#include "http/response_head.h"

#include "base/characters.h"
#include "http/response_gate.h"

namespace weir::http {
namespace {

Rejection status_line_or(Rejection rejection) {
    return rejection == Rejection::bad_request_line || rejection == Rejection::target_too_long
               ? Rejection::bad_status_line
               : rejection;
}

}  // namespace

void ResponseHead::reset() {
    Fields kept = std::move(fields_);
    *this = ResponseHead();
    fields_ = std::move(kept);
    fields_.begin("");
}

ParseState ResponseHead::parse(std::string_view buffered, const Asked& asked,
                               const ResponsePolicy& policy) {
    const auto scanned = scanner_.scan(buffered,
                                       {.max_head = policy.max_head,
                                        .max_first_line = policy.max_head,
                                        .max_fields = policy.max_fields,
                                        .skip_leading_empty_line = false},
                                       fields_);
    base_ = buffered.data();
    if (scanned == HeadScanner::State::need_more) {
        return ParseState::need_more;
    }
    rejection_ = status_line_or(scanned == HeadScanner::State::rejected ? scanner_.rejection()
                                                                        : read(asked));
    return rejection_ == Rejection::none ? ParseState::complete : ParseState::rejected;
}

Rejection ResponseHead::read(const Asked& asked) {
    size_ = scanner_.head_size();
    first_line_size_ = scanner_.first_line_end();
    const Rejection rejection = read_status_line();
    if (rejection != Rejection::none) {
        return rejection;
    }
    return scanner_.lines_are_good() ? ResponseGate(*this, asked).judge() : Rejection::bad_field;
}

/// The line is "HTTP/1.x SP 3DIGIT SP reason" (RFC 9112, 4). The reason may be empty, and its
/// control bytes have been rejected. Some services leave out the SP before an empty reason, too.
Rejection ResponseHead::read_status_line() {
    constexpr std::string_view kVersion = "HTTP/1.";
    constexpr std::string_view kPattern = "HTTP/1.1 200";
    const std::string_view line(base_, first_line_size_ - 2);
    if (line.size() < kPattern.size() || !line.starts_with(kVersion) ||
        (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
        (line.size() > kPattern.size() && line[kPattern.size()] != ' ')) {
        return Rejection::bad_status_line;
    }
    minor_version_ = static_cast<std::uint8_t>(line[7] - '0');
    status_ = 0;
    for (const char digit : line.substr(9, 3)) {
        if (!is_digit(digit)) {
            return Rejection::bad_status_line;
        }
        status_ = status_ * 10 + static_cast<unsigned>(digit - '0');
    }
    return Rejection::none;
}

}  // namespace weir::http
