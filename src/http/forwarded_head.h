#pragma once
// The head that is sent to the other side: pieces of the parsed head's original bytes, and the
// fields that weir adds. Left out are hop-by-hop fields, the fields that Connection names (RFC
// 9110, 7.6.1) and those that weir replaces with its own. All other fields, the path and the query
// stay byte for byte. All pieces are sent by one gathered write.
//
// The pieces point into the parsed bytes, into this object and into `extra` and `host_line` of what
// build() was given. They are valid until the next build() and while all of these live. An object
// can be used again for the next message and soon allocates nothing any more. Not thread-safe.

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
    /// Whether the client is trusted to say on whose behalf it asks. If so, its X-Forwarded-Proto,
    /// -Host and Forwarded are kept, and `client_address` is appended to its X-Forwarded-For. If
    /// not, X-Forwarded-For, -Proto and -Host are replaced, and all other fields that claim a
    /// client's address or host (Forwarded, X-Real-IP and their like) are left out.
    bool keep_forwarded = false;
    /// Write X-Forwarded-For, -Proto and -Host. Without it, what the client sent passes as it is,
    /// and `keep_forwarded` means nothing.
    bool forwarded = true;
    bool via = true;         ///< write Via
    bool request_id = true;  ///< keep a valid X-Request-Id, or else write `made_request_id`
    /// The field line that names the upstream, with CRLF, for requests of HTTP/1.0 that name no
    /// host.
    std::string_view host_line = "Host: localhost\r\n";
    std::string_view made_request_id{};  ///< at most 64 bytes; empty: build() makes one
    /// Complete field lines to add, each with CRLF.
    std::string_view extra{};
};

struct ResponseForwarding {
    unsigned client_minor_version = 1;  ///< 0 or 1: the request was of HTTP/1.0 or HTTP/1.1
    /// Whether the client may keep its connection. If not, or if the body ends with the connection,
    /// the head says `Connection: close`. Ignored for interim responses.
    bool keep_alive = true;
    bool via = true;  ///< write Via
    /// The value of Date, an IMF-fixdate, for a response that has none; empty: none is added.
    std::string_view date{};
    /// Complete field lines to add, each with CRLF, e.g. RateLimit.
    std::string_view extra{};
};

class ForwardedHead {
  public:
    ForwardedHead() = default;
    ForwardedHead(const ForwardedHead&) = delete;
    ForwardedHead& operator=(const ForwardedHead&) = delete;

    /// The head for the upstream, always of HTTP/1.1. A target in absolute form is written in
    /// origin form.
    void build(const RequestHead& head, const RequestForwarding& forwarding, Random& random);
    /// The head for the client, always of HTTP/1.1. A Content-Length or Transfer-Encoding that such
    /// a response must not have is left out (RFC 9110, 8.6; RFC 9112, 6.1).
    void build(const ResponseHead& head, const ResponseForwarding& forwarding);

    [[nodiscard]] std::span<const std::string_view> pieces() const { return pieces_; }
    /// The request id that was kept or made; empty when ids are switched off. A view of this
    /// object, of the request's bytes or of `made_request_id`, as long as they live, until the next
    /// build().
    [[nodiscard]] std::string_view request_id() const { return request_id_; }

  private:
    static constexpr std::size_t kTextCapacity = 1024;

    void begin();
    void original(std::string_view piece);
    void add(std::string_view text);
    void flush();
    void request_line(const RequestHead& head);
    void status_line(const ResponseHead& head);
    void host_of_old_client(const RequestHead& head, std::string_view host_line);
    void original_fields(const Fields& fields, FieldIds left_out);
    void connection_of(const RequestHead& head);
    void forwarded_fields(const RequestHead& head, const RequestForwarding& forwarding);
    void forwarded_for(const Fields& fields, const RequestForwarding& forwarding);
    void offered_upgrade(const Fields& fields);
    void choose_request_id(const Fields& fields, std::string_view made, Random& random);

    std::vector<std::string_view> pieces_;
    std::array<char, kTextCapacity> text_{};
    std::size_t text_size_ = 0;
    std::size_t text_start_ = 0;  // where the text begins that is not part of a piece yet
    MadeRequestId made_id_{};
    std::string_view request_id_;  // in made_id_, in made_request_id or in the request's bytes
    bool keep_request_id_ = false;
};

}  // namespace weir::http
