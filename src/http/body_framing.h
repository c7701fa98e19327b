#pragma once
// How the end of a body is found (RFC 9112, 6.3). Plain values.

#include <cstdint>

namespace weir::http {

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

struct BodyFraming {
    BodyKind kind = BodyKind::none;
    /// Bytes of a body of kind `length`, above 0: an empty one is `none`.
    std::uint64_t length = 0;

    friend bool operator==(const BodyFraming&, const BodyFraming&) = default;
};

}  // namespace weir::http
