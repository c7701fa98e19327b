#pragma once
// The head of a response from the upstream, parsed in place as strictly as requests are. The client
// gets a 502 in place of a rejected response, and the upstream connection is not used again. A 1xx
// response is a head of its own, and the next head follows behind it. One object serves many
// messages; not thread-safe. For its views the rules of request_head.h hold. The bytes that it has
// parsed must outlive its views.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/body_framing.h"
#include "http/fields.h"
#include "http/head_scanner.h"
#include "http/rejection.h"
#include "http/request_head.h"

namespace weir::http {

struct ResponsePolicy {
    std::size_t max_head = 64 * 1024;
    std::size_t max_fields = 1000;
};

/// What a response's meaning depends on: the method of its request, and the protocol that was asked
/// for (RequestHead::upgrade()).
struct Asked {
    Asked(Method with, std::string_view protocol) : method(with), upgrade(protocol) {}
    Asked(Method with) : method(with) {}  // NOLINT: most requests ask for no upgrade

    Method method;
    std::string_view upgrade{};
};

class ResponseHead {
  public:
    void reset();

    /// Like RequestHead::parse().
    ParseState parse(std::string_view buffered, const Asked& asked, const ResponsePolicy& policy);

    [[nodiscard]] Rejection rejection() const { return rejection_; }

    // Valid when complete.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] unsigned status() const { return status_; }
    /// Whether another head follows (status 100 to 199 without 101).
    [[nodiscard]] bool is_interim() const { return status_ < 200 && !is_upgrade(); }
    /// Whether bytes of the protocol that was asked for follow, until the connection ends. A 101 to
    /// any other one, or unasked, is rejected.
    [[nodiscard]] bool is_upgrade() const { return status_ == 101; }
    [[nodiscard]] unsigned minor_version() const { return minor_version_; }
    /// Whether the upstream keeps the connection after this response; never with
    /// BodyKind::until_close.
    [[nodiscard]] bool keep_alive() const { return keep_alive_; }
    /// BodyKind::none for HEAD, 1xx, 204 and 304, whatever the fields say; until_close for 101.
    [[nodiscard]] const BodyFraming& body() const { return body_; }
    [[nodiscard]] const Fields& fields() const { return fields_; }
    [[nodiscard]] std::string_view bytes() const { return {base_, size_}; }
    [[nodiscard]] std::size_t first_line_size() const { return first_line_size_; }

    /// Fields of this name are not passed on.
    void drop(std::string_view name) { fields_.drop(name); }

  private:
    friend class ResponseGate;
    friend class HeadOracle;  // in tests, which fills a head from another parser

    Rejection read(const Asked& asked);
    Rejection read_status_line();

    HeadScanner scanner_;
    Fields fields_;
    const char* base_ = "";
    std::size_t size_ = 0;
    std::size_t first_line_size_ = 0;
    BodyFraming body_;
    unsigned status_ = 0;
    std::uint8_t minor_version_ = 1;
    bool keep_alive_ = true;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
