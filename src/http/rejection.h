#pragma once
// Why the parser or the gate rejected a message before it was routed, charged or forwarded. Each
// reason has one status code and one line of text for the client. Pure functions, thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http {

enum class Rejection : std::uint8_t {
    none,  ///< nothing is wrong so far
    // the request line
    bad_request_line,     ///< the line is not "method target version"
    bad_method,           ///< the method is not a token, or has characters that the policy forbids
    method_not_allowed,   ///< CONNECT or TRACE
    bad_target,           ///< the target has a forbidden byte or none of the forms of RFC 9112, 3.2
    target_too_long,      ///< the request line is longer than GatePolicy::max_request_line
    bad_version,          ///< the line does not end in a version of HTTP
    unsupported_version,  ///< the version is neither HTTP/1.1 nor HTTP/1.0
    // lines and fields
    bare_line_ending,  ///< a CR without LF, or an LF without CR
    control_byte,      ///< the head holds a control byte
    folded_field,      ///< a field line begins with a blank (RFC 9112, 5.2)
    bad_field,         ///< a field line is malformed
    underscore_field,  ///< a name has an underscore, and the policy says `reject`
    head_too_large,    ///< the head is larger than max_head
    too_many_fields,   ///< the head has more than max_fields fields
    // Host
    host_missing,   ///< there is no Host
    host_repeated,  ///< there is more than one Host
    host_invalid,   ///< Host is not valid (host_name.h)
    host_mismatch,  ///< a target in absolute form names another host than Host
    // framing
    length_repeated,       ///< there is more than one Content-Length
    length_invalid,        ///< Content-Length is not a decimal number below 2^63
    length_and_encoding,   ///< Content-Length and Transfer-Encoding come together
    encoding_repeated,     ///< there is more than one Transfer-Encoding
    encoding_invalid,      ///< Transfer-Encoding is malformed or does not end in "chunked"
    encoding_unsupported,  ///< Transfer-Encoding names another coding before "chunked"
    encoding_in_http_1_0,  ///< HTTP/1.0 has no Transfer-Encoding
    // hop by hop
    bad_connection_option,  ///< Connection is malformed or names a field it must not name
    bad_expectation,        ///< Expect holds something other than 100-continue
    upgrade_unsupported,    ///< the client asks for other protocols than GatePolicy::upgrades
    // chunked bodies
    bad_chunk_size,       ///< a size is not 1 to 16 hexadecimal digits, or too large
    bad_chunk_extension,  ///< an extension is malformed or too long
    bad_chunk_end,        ///< the CRLF behind a chunk or the body is missing
    bad_trailer,          ///< a trailer field is malformed or forbidden
    trailer_too_large,    ///< the trailer exceeds one of its bounds (ChunkedLimits)
    chunk_overhead,       ///< all extensions together exceed their bound (ChunkedLimits)
    // responses
    bad_status_line,     ///< the response's first line is malformed
    unexpected_upgrade,  ///< the response is a 101 and not to the protocol that was asked for
};
inline constexpr std::size_t kRejections =
    static_cast<std::size_t>(Rejection::unexpected_upgrade) + 1;

/// The status code with which a rejected request is answered; 0 for `none`. A rejected response
/// always becomes a 502.
[[nodiscard]] unsigned status_of(Rejection rejection);
/// One sentence for the client; never holds bytes of the message.
[[nodiscard]] std::string_view explanation(Rejection rejection);

}  // namespace weir::http
