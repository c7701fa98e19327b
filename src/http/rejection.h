#pragma once
// Why a message was refused before anything else looked at it. Each reason has one status code, one
// counter name and one line of text for the client. Pure functions, thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http {

enum class Rejection : std::uint8_t {
    none,
    // the request line
    bad_request_line,
    bad_method,
    method_not_allowed,
    bad_target,
    target_too_long,
    bad_version,
    unsupported_version,
    // lines and fields
    bare_line_ending,
    control_byte,
    folded_field,
    bad_field,
    underscore_field,
    head_too_large,
    too_many_fields,
    // Host
    host_missing,
    host_repeated,
    host_invalid,
    host_mismatch,
    // framing
    length_repeated,
    length_invalid,
    length_and_encoding,
    encoding_repeated,
    encoding_invalid,
    encoding_unsupported,
    encoding_in_http_1_0,
    // hop by hop
    bad_connection_option,
    bad_expectation,
    upgrade_unsupported,
    // chunked bodies
    bad_chunk_size,
    bad_chunk_extension,
    bad_chunk_end,
    bad_trailer,
    trailer_too_large,
    chunk_overhead,
    // responses
    bad_status_line,
    unexpected_upgrade,
};
inline constexpr std::size_t kRejections =
    static_cast<std::size_t>(Rejection::unexpected_upgrade) + 1;

/// The status code for a request refused so (a response refused so is always a 502); 0 for none.
[[nodiscard]] unsigned status_of(Rejection rejection);
/// A label value for a counter, e.g. "length_and_encoding".
[[nodiscard]] std::string_view counter_name(Rejection rejection);
/// One sentence for the client; never holds bytes of the message.
[[nodiscard]] std::string_view explanation(Rejection rejection);

}  // namespace weir::http
