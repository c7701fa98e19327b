#include "http/rejection.h"

namespace weir::http {
namespace {

struct Row {
    Rejection rejection;
    unsigned status;
    std::string_view counter;
    std::string_view text;
};

constexpr std::array<Row, kRejections> kRows{{
    {Rejection::none, 0, "none", ""},
    {Rejection::bad_request_line, 400, "bad_request_line", "The request line is malformed."},
    {Rejection::bad_method, 400, "bad_method", "The method is malformed."},
    {Rejection::method_not_allowed, 405, "method_not_allowed", "CONNECT and TRACE are not served."},
    {Rejection::bad_target, 400, "bad_target", "The request target is malformed."},
    {Rejection::target_too_long, 414, "target_too_long", "The request line is too long."},
    {Rejection::bad_version, 400, "bad_version", "The request line does not end in HTTP/1.1."},
    {Rejection::unsupported_version, 505, "unsupported_version",
     "Only HTTP/1.1 and HTTP/1.0 are served here."},
    {Rejection::bare_line_ending, 400, "bare_line_ending", "A line does not end in CR LF."},
    {Rejection::control_byte, 400, "control_byte", "The head holds a control byte."},
    {Rejection::folded_field, 400, "folded_field", "A line begins with a blank."},
    {Rejection::bad_field, 400, "bad_field", "A field line is malformed."},
    {Rejection::underscore_field, 400, "underscore_field", "A field name holds an underscore."},
    {Rejection::head_too_large, 431, "head_too_large", "The head is too large."},
    {Rejection::too_many_fields, 431, "too_many_fields", "The head has too many fields."},
    {Rejection::host_missing, 400, "host_missing", "Host is missing."},
    {Rejection::host_repeated, 400, "host_repeated", "There is more than one Host."},
    {Rejection::host_invalid, 400, "host_invalid", "Host is malformed."},
    {Rejection::host_mismatch, 400, "host_mismatch", "Host and request target differ."},
    {Rejection::length_repeated, 400, "length_repeated", "There is more than one Content-Length."},
    {Rejection::length_invalid, 400, "length_invalid", "Content-Length is malformed."},
    {Rejection::length_and_encoding, 400, "length_and_encoding",
     "Content-Length and Transfer-Encoding exclude each other."},
    {Rejection::encoding_repeated, 400, "encoding_repeated",
     "There is more than one Transfer-Encoding."},
    {Rejection::encoding_invalid, 400, "encoding_invalid", "Transfer-Encoding is malformed."},
    {Rejection::encoding_unsupported, 501, "encoding_unsupported",
     "No Transfer-Encoding but chunked is served."},
    {Rejection::encoding_in_http_1_0, 400, "encoding_in_http_1_0",
     "HTTP/1.0 has no Transfer-Encoding."},
    {Rejection::bad_connection_option, 400, "bad_connection_option", "Connection is malformed."},
    {Rejection::bad_expectation, 417, "bad_expectation",
     "No expectation but 100-continue can be met."},
    {Rejection::upgrade_unsupported, 501, "upgrade_unsupported",
     "Upgrading to another protocol is not supported."},
    {Rejection::bad_chunk_size, 400, "bad_chunk_size", "A chunk size is malformed."},
    {Rejection::bad_chunk_extension, 400, "bad_chunk_extension",
     "A chunk extension is malformed or too long."},
    {Rejection::bad_chunk_end, 400, "bad_chunk_end", "A chunk does not end where it should."},
    {Rejection::bad_trailer, 400, "bad_trailer", "A trailer field is malformed or forbidden."},
    {Rejection::trailer_too_large, 431, "trailer_too_large", "The trailer is too large."},
    {Rejection::chunk_overhead, 400, "chunk_overhead",
     "The chunks hold more framing than content."},
    {Rejection::bad_status_line, 502, "bad_status_line", "The status line is malformed."},
    {Rejection::unexpected_upgrade, 502, "unexpected_upgrade",
     "The upstream switched protocols without being asked."},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].rejection) != i) {
            return false;
        }
    }
    return true;
}
static_assert(in_order(), "one row for each rejection, in the order of the enumeration");

const Row& row(Rejection rejection) { return kRows[static_cast<std::size_t>(rejection)]; }

}  // namespace

unsigned status_of(Rejection rejection) { return row(rejection).status; }
std::string_view counter_name(Rejection rejection) { return row(rejection).counter; }
std::string_view explanation(Rejection rejection) { return row(rejection).text; }

}  // namespace weir::http
