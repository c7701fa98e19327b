#include "http/request_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "http/beast_error.h"
#include "http/request_gate.h"

namespace weir::http {

namespace beast = boost::beast;
using beast::error_code;

/// Beast's parser, which here keeps nothing but offsets. It is given a whole head at once and so
/// lives on the stack.
class RequestParser final : public beast::http::basic_parser<true> {
  public:
    RequestParser(RequestHead& head, const char* base) : head_(head), base_(base) {
        eager(false);
        skip(true);  // the gate finds the body's framing, not Beast
    }

  private:
    void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                         int version, error_code&) override {
        head_.method_offset_ = offset(method);
        head_.method_size_ = static_cast<std::uint32_t>(method.size());
        head_.target_offset_ = offset(target);
        head_.target_size_ = static_cast<std::uint32_t>(target.size());
        head_.minor_version_ = static_cast<std::uint8_t>(version % 10);
    }
    void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                       error_code& failure) override {
        if (!add_field(head_.fields_, name, value)) {
            failure = beast::http::error::bad_field;
        }
    }
    void on_response_impl(int, beast::string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(beast::string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, error_code&) override {
        return 0;
    }
    void on_finish_impl(error_code&) override {}

    [[nodiscard]] std::uint32_t offset(beast::string_view part) const {
        return static_cast<std::uint32_t>(part.data() - base_);
    }

    RequestHead& head_;
    const char* base_;
};

namespace {

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
    const auto scanned = scanner_.scan(buffered, scan_limits(policy));
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
    rejection_ =
        scanned == HeadScanner::State::rejected ? scanner_.rejection() : read(buffered, policy);
    return rejection_ == Rejection::none ? ParseState::complete : ParseState::rejected;
}

Rejection RequestHead::read(std::string_view buffered, const GatePolicy& policy) {
    start_ = scanner_.first_line();
    size_ = scanner_.head_size();
    first_line_size_ = scanner_.first_line_end() - start_;
    fields_.begin(base_);
    RequestParser parser(*this, base_);
    parser.header_limit(static_cast<std::uint32_t>(size_));
    error_code failure;
    const std::size_t taken =
        parser.put(boost::asio::buffer(buffered.data() + start_, size_ - start_), failure);
    if (failure) {
        return rejection_of(failure, fields_);
    }
    if (taken != size_ - start_) {
        return Rejection::bad_field;
    }
    fields_.end(size_ - 2);
    return RequestGate(*this, policy).judge();
}

}  // namespace weir::http
