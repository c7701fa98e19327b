#pragma once
// The framing that the fields of a head declare, or why they are rejected (RFC 9112, 6). The rules
// are the same for requests and responses; the caller decides what a missing framing means.
// Functions without state, thread-safe.

#include <cstdint>
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

/// What several Content-Length fields of one head mean. In requests they are an attack more often
/// than a mistake.
enum class RepeatedLength : std::uint8_t { rejected, one_if_equal };

[[nodiscard]] DeclaredFraming declared_framing(const Fields& fields, unsigned minor_version,
                                               RepeatedLength repeated);

/// The options of all Connection fields of one head.
struct ConnectionOptions {
    /// All are tokens, they are not too many, and none names a field of framing or routing.
    bool valid = true;
    bool close = false;
    bool keep_alive = false;
    bool upgrade = false;
};

/// Reads the options and drops the fields that they name.
[[nodiscard]] ConnectionOptions connection_options(Fields& fields);

}  // namespace weir::http
