#include "http/oracle.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "http/head_scanner.h"
#include "http/request_gate.h"
#include "http/response_gate.h"

namespace weir::http {

namespace beast = boost::beast;
using beast::error_code;

/// What Beast's parser found in a head.
struct HeadOracle::Reading {
    bool good = false;
    std::size_t size = 0;  // of the bytes that it took
    std::string_view method;
    std::string_view target;
    unsigned version = 0;
    unsigned status = 0;
    std::vector<std::pair<std::string_view, std::string_view>> fields;
};

namespace {

template <bool kRequest, class Reading>
class Collector final : public beast::http::basic_parser<kRequest> {
  public:
    explicit Collector(Reading& reading) : reading_(reading) {
        this->eager(false);
        this->skip(true);
    }

  private:
    void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                         int version, error_code&) override {
        reading_.method = method;
        reading_.target = target;
        reading_.version = static_cast<unsigned>(version);
    }
    void on_response_impl(int code, beast::string_view, int version, error_code&) override {
        reading_.status = static_cast<unsigned>(code);
        reading_.version = static_cast<unsigned>(version);
    }
    void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                       error_code& failure) override {
        reading_.fields.emplace_back(name, value);
        if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
            failure = beast::http::error::bad_field;  // the table of fields has no room for it
        }
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(beast::string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, error_code&) override {
        return 0;
    }
    void on_finish_impl(error_code&) override {}

    Reading& reading_;
};

template <bool kRequest, class Reading>
Reading read(std::string_view text) {
    constexpr std::uint32_t kNoLimit = 1U << 30U;
    Reading reading;
    Collector<kRequest, Reading> parser(reading);
    parser.header_limit(kNoLimit);
    error_code failure;
    // A text that ends with its head is not enough for Beast: it looks at the byte behind it.
    reading.size = parser.put(boost::asio::buffer(text.data(), text.size()), failure);
    reading.good = !failure && parser.is_header_done();
    return reading;
}

std::uint32_t offset(std::string_view part, const char* base) {
    return static_cast<std::uint32_t>(part.data() - base);
}

/// Beast insists on the blank before a status line's phrase, which may be empty. A text without
/// gets one here, so that what Beast makes of the rest can be compared.
std::string with_phrase(std::string_view text) {
    constexpr std::size_t kWithoutPhrase = std::string_view("HTTP/1.1 200").size();
    std::string mended(text);
    if (text.starts_with("HTTP/") && text.find("\r\n") == kWithoutPhrase) {
        mended.insert(kWithoutPhrase, " ");
    }
    return mended;
}

std::string told(const char* what) { return std::string("the oracle has another ") + what; }

}  // namespace

void HeadOracle::fill(Fields& fields, const char* base, const Reading& reading, std::size_t size) {
    fields.begin(base);
    for (const auto& [name, value] : reading.fields) {
        fields.add({.name_offset = offset(name, base),
                    .value_offset = value.empty() ? 0 : offset(value, base),
                    .value_length = static_cast<std::uint32_t>(value.size()),
                    .name_length = static_cast<std::uint16_t>(name.size())});
    }
    fields.end(size - 2);
}

std::string HeadOracle::compare(const Fields& ours, const Fields& theirs) {
    if (ours.size() != theirs.size()) {
        return told("number of fields");
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours.name(i) != theirs.name(i) || ours[i].id != theirs[i].id) {
            return told("name of a field");
        }
        if (ours.value(i) != theirs.value(i)) {
            return told("value of a field");
        }
        if (ours.line(i) != theirs.line(i) || ours[i].dropped != theirs[i].dropped ||
            ours[i].holds_underscore != theirs[i].holds_underscore) {
            return told("line of a field");
        }
    }
    return ours.lines() == theirs.lines() ? "" : told("end of the fields");
}

Rejection HeadOracle::judge(RequestHead& head, std::string_view text, std::size_t start,
                            const GatePolicy& policy) {
    const auto reading = read<true, Reading>(text.substr(start));
    if (!reading.good) {
        return Rejection::bad_field;
    }
    head.base_ = text.data();
    head.start_ = start;
    head.size_ = start + reading.size;
    head.method_offset_ = offset(reading.method, head.base_);
    head.method_size_ = static_cast<std::uint32_t>(reading.method.size());
    head.target_offset_ = offset(reading.target, head.base_);
    head.target_size_ = static_cast<std::uint32_t>(reading.target.size());
    head.minor_version_ = static_cast<std::uint8_t>(reading.version % 10);
    fill(head.fields_, head.base_, reading, head.size_);
    return RequestGate(head, policy).judge();
}

Rejection HeadOracle::judge(ResponseHead& head, std::string_view text, const Asked& asked) {
    const auto reading = read<false, Reading>(text);
    if (!reading.good) {
        return Rejection::bad_field;
    }
    head.base_ = text.data();
    head.size_ = reading.size;
    head.status_ = reading.status;
    head.minor_version_ = static_cast<std::uint8_t>(reading.version % 10);
    fill(head.fields_, head.base_, reading, head.size_);
    return ResponseGate(head, asked).judge();
}

std::string HeadOracle::difference(std::string_view text, const GatePolicy& policy,
                                   const RequestHead& head, ParseState state) {
    HeadScanner scanner;
    Fields ignored;
    const auto scanned = scanner.scan(text,
                                      {.max_head = policy.max_head,
                                       .max_first_line = policy.max_request_line,
                                       .max_fields = policy.max_fields,
                                       .skip_leading_empty_line = policy.skip_leading_empty_line},
                                      ignored);
    if (scanned != HeadScanner::State::complete) {
        return state == ParseState::complete ? "complete, though the scanner was not" : "";
    }
    RequestHead oracle;
    const auto rejection = judge(oracle, text, scanner.first_line(), policy);
    if ((rejection == Rejection::none) != (state == ParseState::complete)) {
        return "the oracle's verdict: " + std::string(explanation(rejection));
    }
    if (state != ParseState::complete) {
        return {};
    }
    if (head.size() != oracle.size() || head.start() != oracle.start()) {
        return told("end");
    }
    if (head.method_text() != oracle.method_text() || head.method() != oracle.method() ||
        head.target() != oracle.target() || head.minor_version() != oracle.minor_version()) {
        return told("request line");
    }
    if (head.path() != oracle.path() || head.query() != oracle.query() ||
        head.has_query() != oracle.has_query() || head.host() != oracle.host() ||
        head.is_absolute_form() != oracle.is_absolute_form()) {
        return told("target");
    }
    if (head.body() != oracle.body() || head.keep_alive() != oracle.keep_alive() ||
        head.expects_continue() != oracle.expects_continue() ||
        head.accepts_trailers() != oracle.accepts_trailers() ||
        head.upgrade() != oracle.upgrade()) {
        return told("framing");
    }
    return compare(head.fields(), oracle.fields());
}

std::string HeadOracle::difference(std::string_view text, const Asked& asked,
                                   const ResponsePolicy& policy, const ResponseHead& head,
                                   ParseState state) {
    HeadScanner scanner;
    Fields ignored;
    const auto scanned = scanner.scan(text,
                                      {.max_head = policy.max_head,
                                       .max_first_line = policy.max_head,
                                       .max_fields = policy.max_fields,
                                       .skip_leading_empty_line = false},
                                      ignored);
    if (scanned != HeadScanner::State::complete) {
        return state == ParseState::complete ? "complete, though the scanner was not" : "";
    }
    ResponseHead oracle;
    const auto mended = with_phrase(text);
    const auto rejection = judge(oracle, mended, asked);
    if ((rejection == Rejection::none) != (state == ParseState::complete)) {
        return "the oracle's verdict: " + std::string(explanation(rejection));
    }
    if (state != ParseState::complete) {
        return {};
    }
    const auto inserted = mended.size() - text.size();
    if (head.size() + inserted != oracle.size() || head.status() != oracle.status() ||
        head.minor_version() != oracle.minor_version()) {
        return told("status line");
    }
    if (head.body() != oracle.body() || head.keep_alive() != oracle.keep_alive()) {
        return told("framing");
    }
    return compare(head.fields(), oracle.fields());
}

}  // namespace weir::http
