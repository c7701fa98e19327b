#pragma once
// Looks into the table of S3's operations: markers by the length of their names, operations by
// level and method. Immutable, thread-safe.

#include <cstdint>
#include <string_view>

#include "http/method.h"
#include "routing/s3_operations.h"

namespace weir::routing {

/// What a request says about its operation.
struct S3Facts {
    http::Method method = http::Method::other;
    S3Level level = S3Level::service;
    std::string_view path;
    std::uint64_t markers = 0;
    std::uint8_t headers = 0;
};

/// Bits of the markers that this parameter is, as it stands in the query.
[[nodiscard]] std::uint64_t s3_markers_of(std::string_view name, std::string_view value);

/// The first operation that asks for no more than these facts; nullptr without one.
[[nodiscard]] const S3Operation* find_s3_operation(const S3Facts& facts);

}  // namespace weir::routing
