#pragma once
// The table of S3's operations, generated from botocore's model by scripts/generate-s3-operations.
// Immutable, thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::routing {

enum class S3Level : std::uint8_t { service, bucket, object };

/// A query parameter that tells operations apart; with a value only where the value does.
struct S3Marker {
    std::string_view name;
    std::string_view value;
};

struct S3Operation {
    std::string_view name;
    std::string_view method;
    S3Level level;
    std::string_view path;  ///< of operations without bucket
    std::uint64_t markers;  ///< bits of s3_markers() that must all be there
    std::uint8_t headers;   ///< bits of s3_headers()
    bool read;
};

[[nodiscard]] std::span<const S3Marker> s3_markers();
[[nodiscard]] std::span<const std::string_view> s3_headers();
/// What asks for more comes first: the first one that matches is meant.
[[nodiscard]] std::span<const S3Operation> s3_operations();

}  // namespace weir::routing
