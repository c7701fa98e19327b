#pragma once
// The head of a request, parsed in place: views and offsets into the connection's buffer. The bytes
// are not changed, and they are what is forwarded. A strict gate checks every head: one that is
// `complete` has exactly one valid Host (in HTTP/1.0 at most one), one unambiguous framing, no
// control bytes and no folded lines (rejection.h lists the rules). Nothing may be routed, charged
// or forwarded before parse() has returned `complete`.
//
// One object serves many messages, with reset() between them; it allocates nothing once the field
// table has grown to its size. Not thread-safe. The buffer belongs to the caller. It may grow or
// move between calls to parse(). After `complete` the views point into the bytes of the last call.

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

    /// `buffered` is everything received since the first byte of this message: the bytes of the
    /// last call and what has come since. After `complete` or `rejected`, reset() must come first.
    /// The result does not depend on how the bytes were divided among the calls.
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
    /// The request target in the form in which it came.
    [[nodiscard]] std::string_view target() const { return text(target_offset_, target_size_); }
    /// The path without query, byte for byte: "/" if a target in absolute form has no path, "*" for
    /// OPTIONS *.
    [[nodiscard]] std::string_view path() const;
    /// The query without '?'. Empty both for "?" and for no query; has_query() tells them apart.
    [[nodiscard]] std::string_view query() const { return text(query_offset_, query_size_); }
    [[nodiscard]] bool has_query() const { return has_query_; }
    [[nodiscard]] bool is_absolute_form() const { return absolute_form_; }
    /// Host and port as written in Host; a target in absolute form names the same. Without Host,
    /// which only HTTP/1.0 allows, those of the target, and empty if it names none.
    [[nodiscard]] std::string_view host() const { return text(host_offset_, host_size_); }
    /// 0 or 1.
    [[nodiscard]] unsigned minor_version() const { return minor_version_; }
    /// Whether the client wants to keep the connection after this request.
    [[nodiscard]] bool keep_alive() const { return keep_alive_; }
    [[nodiscard]] bool expects_continue() const { return expects_continue_; }
    /// TE: trailers.
    [[nodiscard]] bool accepts_trailers() const { return accepts_trailers_; }
    /// The protocol to which the connection may switch, as the client wrote it; empty: none was
    /// asked for or none is permitted.
    [[nodiscard]] std::string_view upgrade() const { return text(upgrade_offset_, upgrade_size_); }
    [[nodiscard]] const BodyFraming& body() const { return body_; }
    [[nodiscard]] const Fields& fields() const { return fields_; }

    // Used by ForwardedHead.
    [[nodiscard]] std::size_t start() const { return start_; }
    [[nodiscard]] std::size_t first_line_size() const { return first_line_size_; }
    [[nodiscard]] std::string_view bytes() const { return {base_, size_}; }
    [[nodiscard]] std::size_t path_offset() const { return path_offset_; }

    /// Fields of this name are not forwarded.
    void drop(std::string_view name) { fields_.drop(name); }
    /// Fields whose names imitate this one are not forwarded.
    void drop_imitations(std::string_view name) { fields_.drop_imitations(name); }

  private:
    friend class RequestGate;
    friend class HeadOracle;  // in tests, which fills a head from another parser

    Rejection read(const GatePolicy& policy);
    Rejection read_request_line();
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
    std::uint32_t upgrade_offset_ = 0;
    std::uint32_t upgrade_size_ = 0;
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
