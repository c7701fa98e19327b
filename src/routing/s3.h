#pragma once
// What an S3 request is about: bucket and operation, from host, path, query and headers, in both
// URL forms. Keys are never normalised: "a//b" and "a/../b" are names of their own. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/request_head.h"
#include "routing/normal_path.h"
#include "routing/s3_operations.h"

namespace weir::routing {

struct S3Request {
    std::string_view bucket;                 ///< decoded; empty for operations without bucket
    const S3Operation* operation = nullptr;  ///< nothing: unknown
    bool read = false;
    Ambiguity ambiguity = Ambiguity::none;  ///< of the bucket's segment
};

/// `host` is normal; `domains` are too, none means any host and buckets in the path. Nothing if the
/// host is of no domain. `buffer` receives the decoded bucket.
[[nodiscard]] std::optional<S3Request> recognise_s3(const http::RequestHead& head,
                                                    std::string_view host,
                                                    std::span<const std::string> domains,
                                                    std::string& buffer);

}  // namespace weir::routing
