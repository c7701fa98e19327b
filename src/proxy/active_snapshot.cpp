#include "proxy/active_snapshot.h"

namespace weir::proxy {
namespace {

http::Underscores underscores(config::Underscores setting) {
    switch (setting) {
        case config::Underscores::pass:
            return http::Underscores::pass;
        case config::Underscores::drop:
            return http::Underscores::drop;
        case config::Underscores::reject:
            return http::Underscores::reject;
    }
    return http::Underscores::drop;
}

}  // namespace

ActiveSnapshot::ActiveSnapshot(const Snapshot& snapshot, std::uint64_t version)
    : settings(snapshot), upstream_version(version) {
    gate.max_head = snapshot.limits.request_head;
    gate.max_request_line = snapshot.limits.request_line;
    gate.max_fields = snapshot.limits.request_fields;
    gate.underscores = underscores(snapshot.headers.underscores);
    response.max_head = snapshot.limits.response_head;
    chunked.max_extension = snapshot.limits.chunk_extension;
    if (!snapshot.headers.judged.empty()) judged_line = snapshot.headers.judged + ": 1\r\n";
}

}  // namespace weir::proxy
