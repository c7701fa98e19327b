#include "http/request_head.h"

#include <algorithm>

#include "base/characters.h"
#include "http/request_gate.h"

namespace weir::http {
namespace {

constexpr std::size_t kVersionSize = std::string_view("HTTP/1.1").size();

ScanLimits scan_limits(const GatePolicy& policy) {
    return {.max_head = policy.max_head,
            .max_first_line = policy.max_request_line,
            .max_fields = policy.max_fields,
            .skip_leading_empty_line = policy.skip_leading_empty_line};
}

}  // namespace

void RequestHead::reset() {
    Fields kept = std::move(fields_);  // to keep its capacity
    *this = RequestHead();
    fields_ = std::move(kept);
    fields_.begin("");
}

std::string_view RequestHead::path() const {
    return path_size_ == 0 ? std::string_view("/") : text(path_offset_, path_size_);
}

ParseState RequestHead::parse(std::string_view buffered, const GatePolicy& policy) {
    const auto scanned = scanner_.scan(buffered, scan_limits(policy), fields_);
    base_ = buffered.data();
    if (!version_checked_ && scanner_.first_line_end() != 0) {
        version_checked_ = true;
        const auto begin = scanner_.first_line();
        rejection_ =
            RequestGate::judge_version(buffered.substr(begin, scanner_.first_line_end() - begin));
        if (rejection_ != Rejection::none) {
            return ParseState::rejected;
        }
    }
    if (scanned == HeadScanner::State::need_more) {
        return ParseState::need_more;
    }
    rejection_ = scanned == HeadScanner::State::rejected ? scanner_.rejection() : read(policy);
    return rejection_ == Rejection::none ? ParseState::complete : ParseState::rejected;
}

Rejection RequestHead::read(const GatePolicy& policy) {
    start_ = scanner_.first_line();
    size_ = scanner_.head_size();
    first_line_size_ = scanner_.first_line_end() - start_;
    const Rejection rejection = read_request_line();
    if (rejection != Rejection::none) {
        return rejection;
    }
    return scanner_.lines_are_good() ? RequestGate(*this, policy).judge() : Rejection::bad_field;
}

/// The line is "method SP target SP version" (RFC 9112, 3), and judge_version() has accepted the
/// eight bytes at its end.
Rejection RequestHead::read_request_line() {
    const std::string_view line(base_ + start_, first_line_size_ - 2);
    const std::size_t method = std::min(line.find(' '), line.size());
    if (method == line.size() || method == 0 ||
        !kTokenCharacters.contains_all(line.substr(0, method))) {
        return Rejection::bad_method;
    }
    const std::size_t target = method + 1;
    const std::size_t target_end = std::min(line.find(' ', target), line.size());
    if (target_end == line.size() || target_end == target) {
        return Rejection::bad_target;
    }
    if (line.size() != target_end + 1 + kVersionSize) {
        return Rejection::bad_request_line;
    }
    method_offset_ = static_cast<std::uint32_t>(start_);
    method_size_ = static_cast<std::uint32_t>(method);
    target_offset_ = static_cast<std::uint32_t>(start_ + target);
    target_size_ = static_cast<std::uint32_t>(target_end - target);
    minor_version_ = static_cast<std::uint8_t>(line.back() - '0');
    return Rejection::none;
}

}  // namespace weir::http
