#pragma once
// How the end of a body is found (RFC 9112, 6.3). Plain values.

#include <cstdint>

namespace weir::http {

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

struct BodyFraming {
    BodyKind kind = BodyKind::none;
    std::uint64_t length = 0;  ///< bytes, for `length`; never 0 there (that is `none`)

    friend bool operator==(const BodyFraming&, const BodyFraming&) = default;
};

}  // namespace weir::http
