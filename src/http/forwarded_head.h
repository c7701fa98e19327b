#pragma once
// What is written to the other side instead of a parsed head: pieces of the original bytes, without
// hop-by-hop fields and those that Connection names (RFC 9110, 7.6.1), with the fields that weir
// adds, for one gathered write. Host, path, query and all other fields stay byte for byte.
//
// Pieces point into the parsed bytes, into this object and into `extra`; they are valid until the
// next build, and while those live. Reusable, no allocation after warm-up, not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "http/request_head.h"
#include "http/request_id.h"
#include "http/response_head.h"

namespace weir::http {

struct RequestForwarding {
    std::string_view
        client_address{};              ///< without port and brackets; at most 64 bytes; empty: none
    std::string_view scheme = "http";  ///< of the listener
    /// The client is one of trusted_proxies: its X-Forwarded-* fields are kept (-For appended to).
    bool client_trusted = false;
    bool forwarded = true;   ///< write X-Forwarded-For, -Proto and -Host
    bool via = true;         ///< write Via
    bool request_id = true;  ///< keep a valid X-Request-Id, else write `made_request_id`
    std::string_view made_request_id{};  ///< empty: one is made; at most 64 bytes
    /// Complete field lines to add, each with CRLF.
    std::string_view extra{};
};

struct ResponseForwarding {
    /// Of the request that is answered.
    Method method = Method::get;
    unsigned client_minor_version = 1;
    /// Tell the client whether its connection stays; ignored for interim responses.
    bool keep_alive = true;
    bool via = true;
    /// Complete field lines to add, each with CRLF, e.g. RateLimit.
    std::string_view extra{};
};

class ForwardedHead {
  public:
    ForwardedHead() = default;
    ForwardedHead(const ForwardedHead&) = delete;
    ForwardedHead& operator=(const ForwardedHead&) = delete;

    /// Towards the upstream. An absolute-form target is written in origin form; HTTP/1.0 stays
    /// HTTP/1.0 (so that the answer is never chunked) with Connection: keep-alive.
    void build(const RequestHead& head, const RequestForwarding& forwarding, Random& random);
    /// Towards the client, always as HTTP/1.1.
    void build(const ResponseHead& head, const ResponseForwarding& forwarding);

    [[nodiscard]] std::span<const std::string_view> pieces() const { return pieces_; }
    [[nodiscard]] std::size_t size() const;
    /// The id that was kept or made; empty when switched off. After the first build().
    [[nodiscard]] std::string_view request_id() const { return request_id_; }

  private:
    static constexpr std::size_t kTextCapacity = 1024;

    void begin();
    void original(std::string_view piece);
    void add(std::string_view text);
    void flush();
    void request_line(const RequestHead& head);
    void original_fields(const Fields& fields, FieldIds left_out);
    void forwarded_fields(const RequestHead& head, const RequestForwarding& forwarding);
    void forwarded_for(const Fields& fields, const RequestForwarding& forwarding);
    void choose_request_id(const Fields& fields, std::string_view made, Random& random);

    std::vector<std::string_view> pieces_;
    std::array<char, kTextCapacity> text_{};
    std::size_t text_size_ = 0;
    std::size_t text_start_ = 0;  // of what is not yet a piece
    MadeRequestId made_id_{};
    std::string_view request_id_;  // in made_id_ or in the request's bytes
    bool keep_request_id_ = false;
};

}  // namespace weir::http
