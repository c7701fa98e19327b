#include "proxy/rejection_ending.h"

namespace weir::proxy {

Ending ending_of(http::Rejection rejection) {
    using enum http::Rejection;
    switch (rejection) {
        case method_not_allowed:
        case bad_method:
            return Ending::rejected_method;
        case target_too_long:
            return Ending::rejected_target_too_long;
        case bad_version:
        case unsupported_version:
            return Ending::rejected_version;
        case head_too_large:
        case too_many_fields:
            return Ending::rejected_head_too_large;
        case host_missing:
        case host_repeated:
        case host_invalid:
        case host_mismatch:
            return Ending::rejected_host;
        case length_repeated:
        case length_invalid:
        case length_and_encoding:
        case encoding_repeated:
        case encoding_invalid:
        case encoding_unsupported:
        case encoding_in_http_1_0:
            return Ending::rejected_framing;
        case bad_expectation:
            return Ending::rejected_expectation;
        case upgrade_unsupported:
        case unexpected_upgrade:
            return Ending::rejected_upgrade;
        case bad_chunk_size:
        case bad_chunk_extension:
        case bad_chunk_end:
        case bad_trailer:
        case trailer_too_large:
        case chunk_overhead:
            return Ending::rejected_body;
        default:
            return Ending::rejected_syntax;
    }
}

Ending ending_of(limiter::Reason refused) {
    switch (refused) {
        case limiter::Reason::above_share:
            return Ending::refused_share;
        case limiter::Reason::zero:
            return Ending::refused_zero;
        case limiter::Reason::isolated:
            return Ending::refused_isolated;
        default:
            return Ending::refused_limit;
    }
}

}  // namespace weir::proxy
