#pragma once
// The head of a request, parsed in place: views and offsets into the connection's buffer, whose
// bytes stay as they came and are what gets forwarded. A strict gate stands in front: a head that
// is `complete` has exactly one valid Host, one unambiguous framing, no control bytes, no folded
// lines (rejection.h lists the rules). Nothing may be routed, charged or forwarded
// before `complete`.
//
// Reusable: reset() between messages; no allocation once the field table has grown to its size.
// Not thread-safe. The buffer is the caller's; it may grow or move between calls to parse(), but
// after `complete` the views point into the bytes of the last call until rebase().

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/body_framing.h"
#include "http/fields.h"
#include "http/gate_policy.h"
#include "http/head_scanner.h"
#include "http/method.h"
#include "http/rejection.h"

namespace weir::http {

enum class ParseState : std::uint8_t { need_more, complete, rejected };

class RequestHead {
  public:
    void reset();

    /// `buffered` is everything received from the first byte of this message on: what was given
    /// before and more. After `complete` or `rejected` call reset() first. The result does not
    /// depend on how the bytes were cut.
    ParseState parse(std::string_view buffered, const GatePolicy& policy);

    /// Why it was rejected; the connection must be closed after the answer.
    [[nodiscard]] Rejection rejection() const { return rejection_; }

    // Valid when complete.
    /// Bytes of the head; the body begins behind them.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Method method() const { return method_; }
    [[nodiscard]] std::string_view method_text() const {
        return text(method_offset_, method_size_);
    }
    /// As it came, in any form.
    [[nodiscard]] std::string_view target() const { return text(target_offset_, target_size_); }
    /// Path without query, byte for byte: "/" for an absolute-form target without path, "*" for
    /// OPTIONS *.
    [[nodiscard]] std::string_view path() const;
    /// Without '?'; empty without a query (has_query() tells "?" from none).
    [[nodiscard]] std::string_view query() const { return text(query_offset_, query_size_); }
    [[nodiscard]] bool has_query() const { return has_query_; }
    [[nodiscard]] bool is_absolute_form() const { return absolute_form_; }
    /// Host and port as written in Host; an absolute-form target names the same one. Empty only
    /// for HTTP/1.0 without Host.
    [[nodiscard]] std::string_view host() const { return text(host_offset_, host_size_); }
    /// 0 or 1.
    [[nodiscard]] unsigned minor_version() const { return minor_version_; }
    /// The client wants the connection kept after this request.
    [[nodiscard]] bool keep_alive() const { return keep_alive_; }
    [[nodiscard]] bool expects_continue() const { return expects_continue_; }
    /// TE: trailers.
    [[nodiscard]] bool accepts_trailers() const { return accepts_trailers_; }
    [[nodiscard]] const BodyFraming& body() const { return body_; }
    [[nodiscard]] const Fields& fields() const { return fields_; }

    // For the writer of the forwarded head.
    [[nodiscard]] std::size_t start() const { return start_; }
    [[nodiscard]] std::size_t first_line_size() const { return first_line_size_; }
    [[nodiscard]] std::string_view bytes() const { return {base_, size_}; }
    [[nodiscard]] std::size_t path_offset() const { return path_offset_; }

    /// Fields of this name are not forwarded.
    void drop(std::string_view name) { fields_.drop(name); }
    /// Nor those whose names imitate it.
    void drop_imitations(std::string_view name) { fields_.drop_imitations(name); }

    /// The bytes have moved, unchanged, to another address.
    void rebase(const char* base);

  private:
    friend class RequestParser;
    friend class RequestGate;

    Rejection read(std::string_view buffered, const GatePolicy& policy);
    [[nodiscard]] std::string_view text(std::size_t offset, std::size_t length) const {
        return {base_ + offset, length};
    }

    HeadScanner scanner_;
    Fields fields_;
    const char* base_ = "";
    std::size_t size_ = 0;
    std::size_t start_ = 0;
    std::size_t first_line_size_ = 0;
    std::uint32_t method_offset_ = 0;
    std::uint32_t method_size_ = 0;
    std::uint32_t target_offset_ = 0;
    std::uint32_t target_size_ = 0;
    std::uint32_t path_offset_ = 0;
    std::uint32_t path_size_ = 0;
    std::uint32_t query_offset_ = 0;
    std::uint32_t query_size_ = 0;
    std::uint32_t host_offset_ = 0;
    std::uint32_t host_size_ = 0;
    BodyFraming body_;
    Method method_ = Method::other;
    std::uint8_t minor_version_ = 1;
    bool has_query_ = false;
    bool absolute_form_ = false;
    bool keep_alive_ = true;
    bool expects_continue_ = false;
    bool accepts_trailers_ = false;
    bool version_checked_ = false;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
