#include "http/rejection.h"

namespace weir::http {
namespace {

struct RejectionRow {
    Rejection rejection;
    unsigned status;
    std::string_view text;
};

constexpr std::array<RejectionRow, kRejections> kRows{{
    {Rejection::none, 0, ""},
    {Rejection::bad_request_line, 400, "The request line is malformed."},
    {Rejection::bad_method, 400, "The method is malformed."},
    {Rejection::method_not_allowed, 405, "CONNECT and TRACE are not served."},
    {Rejection::bad_target, 400, "The request target is malformed."},
    {Rejection::target_too_long, 414, "The request line is too long."},
    {Rejection::bad_version, 400, "The request line does not end in HTTP/1.1."},
    {Rejection::unsupported_version, 505, "Only HTTP/1.1 and HTTP/1.0 are served here."},
    {Rejection::bare_line_ending, 400, "A line does not end in CR LF."},
    {Rejection::control_byte, 400, "The head holds a control byte."},
    {Rejection::folded_field, 400, "A line begins with a blank."},
    {Rejection::bad_field, 400, "A field line is malformed."},
    {Rejection::underscore_field, 400, "A field name holds an underscore."},
    {Rejection::head_too_large, 431, "The head is too large."},
    {Rejection::too_many_fields, 431, "The head has too many fields."},
    {Rejection::host_missing, 400, "Host is missing."},
    {Rejection::host_repeated, 400, "There is more than one Host."},
    {Rejection::host_invalid, 400, "Host is malformed."},
    {Rejection::host_mismatch, 400, "Host and request target differ."},
    {Rejection::length_repeated, 400, "There is more than one Content-Length."},
    {Rejection::length_invalid, 400, "Content-Length is malformed."},
    {Rejection::length_and_encoding, 400,
     "Content-Length and Transfer-Encoding exclude each other."},
    {Rejection::encoding_repeated, 400, "There is more than one Transfer-Encoding."},
    {Rejection::encoding_invalid, 400, "Transfer-Encoding does not end in chunked."},
    {Rejection::encoding_unsupported, 501, "No Transfer-Encoding but chunked is served."},
    {Rejection::encoding_in_http_1_0, 400, "HTTP/1.0 has no Transfer-Encoding."},
    {Rejection::bad_connection_option, 400, "Connection is malformed."},
    {Rejection::bad_expectation, 417, "No expectation but 100-continue can be met."},
    {Rejection::upgrade_unsupported, 501, "This protocol is not permitted here."},
    {Rejection::bad_chunk_size, 400, "A chunk size is malformed."},
    {Rejection::bad_chunk_extension, 400, "A chunk extension is malformed or too long."},
    {Rejection::bad_chunk_end, 400, "A chunk does not end where it should."},
    {Rejection::bad_trailer, 400, "A trailer field is malformed or forbidden."},
    {Rejection::trailer_too_large, 431, "The trailer is too large."},
    {Rejection::chunk_overhead, 400, "The chunks hold more framing than content."},
    {Rejection::bad_status_line, 502, "The status line is malformed."},
    {Rejection::unexpected_upgrade, 502,
     "The upstream switched to a protocol that was not asked for."},
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

const RejectionRow& row(Rejection rejection) { return kRows[static_cast<std::size_t>(rejection)]; }

}  // namespace

unsigned status_of(Rejection rejection) { return row(rejection).status; }
std::string_view explanation(Rejection rejection) { return row(rejection).text; }

}  // namespace weir::http
