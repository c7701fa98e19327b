#include "http/response_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "http/beast_error.h"
#include "http/response_gate.h"

namespace weir::http {

namespace beast = boost::beast;
using beast::error_code;

/// Beast's parser, which here keeps nothing but offsets, as in request_head.cpp.
class ResponseParser final : public beast::http::basic_parser<false> {
  public:
    explicit ResponseParser(ResponseHead& head) : head_(head) {
        eager(false);
        skip(true);
    }

  private:
    void on_response_impl(int code, beast::string_view, int version, error_code&) override {
        head_.status_ = static_cast<unsigned>(code);
        head_.minor_version_ = static_cast<std::uint8_t>(version % 10);
    }
    void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                       error_code& failure) override {
        if (!add_field(head_.fields_, name, value)) {
            failure = beast::http::error::bad_field;
        }
    }
    void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int,
                         error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(beast::string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, error_code&) override {
        return 0;
    }
    void on_finish_impl(error_code&) override {}

    ResponseHead& head_;
};

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

ParseState ResponseHead::parse(std::string_view buffered, Method request_method,
                               const ResponsePolicy& policy) {
    const auto scanned = scanner_.scan(buffered, {.max_head = policy.max_head,
                                                  .max_first_line = policy.max_head,
                                                  .max_fields = policy.max_fields,
                                                  .skip_leading_empty_line = false});
    base_ = buffered.data();
    if (scanned == HeadScanner::State::need_more) {
        return ParseState::need_more;
    }
    rejection_ =
        status_line_or(scanned == HeadScanner::State::rejected ? scanner_.rejection()
                                                               : read(buffered, request_method));
    return rejection_ == Rejection::none ? ParseState::complete : ParseState::rejected;
}

Rejection ResponseHead::read(std::string_view buffered, Method request_method) {
    size_ = scanner_.head_size();
    first_line_size_ = scanner_.first_line_end();
    fields_.begin(base_);
    ResponseParser parser(*this);
    parser.header_limit(static_cast<std::uint32_t>(size_));
    error_code failure;
    const std::size_t taken = parser.put(boost::asio::buffer(buffered.data(), size_), failure);
    if (failure == beast::http::error::bad_status || failure == beast::http::error::bad_reason) {
        return Rejection::bad_status_line;
    }
    if (failure) {
        return rejection_of(failure, fields_);
    }
    if (taken != size_) {
        return Rejection::bad_field;
    }
    fields_.end(size_ - 2);
    return ResponseGate(*this, request_method).judge();
}

}  // namespace weir::http
