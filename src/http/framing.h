#pragma once
// The framing that the fields of a head declare, or why they cannot be believed (RFC 9112, 6). The
// same for requests and responses; what a missing framing means is the caller's. Pure functions.

#include <optional>

#include "http/body_framing.h"
#include "http/fields.h"
#include "http/rejection.h"

namespace weir::http {

struct DeclaredFraming {
    Rejection rejection = Rejection::none;
    std::optional<std::uint64_t> length;
    bool chunked = false;
};

[[nodiscard]] DeclaredFraming declared_framing(const Fields& fields, unsigned minor_version);

/// Connection's options of all its fields together.
struct ConnectionOptions {
    bool valid = true;  ///< tokens, few, and none that names a field of framing or routing
    bool close = false;
    bool keep_alive = false;
    bool upgrade = false;
};

/// Drops the fields that an option names.
[[nodiscard]] ConnectionOptions connection_options(Fields& fields);

}  // namespace weir::http
