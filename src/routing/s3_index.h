#pragma once
// Looks operations of S3 up in their table (s3_operations.h). Markers are indexed by the length of
// their names, operations by level and method. Immutable, thread-safe. The table lives as long as
// the program.

#include <cstdint>
#include <string_view>

#include "http/method.h"
#include "routing/s3_operations.h"

namespace weir::routing {

/// What a request says about its operation. `markers` and `headers` have the bits of s3_markers()
/// and s3_headers().
struct S3Facts {
    http::Method method = http::Method::other;
    S3Level level = S3Level::service;
    std::string_view path;
    std::uint64_t markers = 0;
    std::uint8_t headers = 0;
};

/// The bits of the markers that match this parameter of a query, which is given as it stands there.
[[nodiscard]] std::uint64_t s3_markers_of(std::string_view name, std::string_view value);

/// The first operation of the table all of whose markers and headers are among these facts; nullptr
/// if there is none.
[[nodiscard]] const S3Operation* find_s3_operation(const S3Facts& facts);

}  // namespace weir::routing
