#pragma once
// The table of S3's operations, generated from botocore's model by scripts/generate-s3-operations.
// Immutable, thread-safe. Its texts are literals and live as long as the program.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::routing {

enum class S3Level : std::uint8_t { service, bucket, object };

/// A query parameter that tells operations apart. `value` is empty unless only one value of the
/// parameter does so.
struct S3Marker {
    std::string_view name;
    std::string_view value;
};

struct S3Operation {
    std::string_view name;
    std::string_view method;
    S3Level level;
    std::string_view path;  ///< the path, of operations that name no bucket
    std::uint64_t markers;  ///< bits of s3_markers(): the request must have all of them
    std::uint8_t headers;   ///< bits of s3_headers(): the request must have all of them
    bool read;
};

[[nodiscard]] std::span<const S3Marker> s3_markers();
[[nodiscard]] std::span<const std::string_view> s3_headers();
/// Operations with more conditions come first, so that the first one that matches is the right one.
[[nodiscard]] std::span<const S3Operation> s3_operations();

}  // namespace weir::routing
