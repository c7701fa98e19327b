#pragma once
// Finds bucket and operation of an S3 request from its host, path, query and header fields, for
// buckets in the path and for buckets in the host. Object keys are never normalised: "a//b" and
// "a/../b" are two different keys. Pure functions, thread-safe.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/request_head.h"
#include "routing/normal_path.h"
#include "routing/s3_operations.h"

namespace weir::routing {

struct S3Request {
    std::string_view bucket;  ///< percent-decoded; empty for operations without bucket
    const S3Operation* operation = nullptr;  ///< nullptr: unknown
    /// The operation reads and does not write.
    bool read = false;
    Ambiguity ambiguity = Ambiguity::none;  ///< of the path's segment that names the bucket
};

/// `host` and `domains` are in normal form. The result is nothing if the host belongs to none of
/// the domains; without domains every host is accepted, and buckets are in the path. `buffer`
/// receives the decoded bucket.
[[nodiscard]] std::optional<S3Request> recognise_s3(const http::RequestHead& head,
                                                    std::string_view host,
                                                    std::span<const std::string> domains,
                                                    std::string& buffer);

}  // namespace weir::routing
