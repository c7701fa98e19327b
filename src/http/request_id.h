#pragma once
// The X-Request-Id of a request: the client's own if it is fit to be passed on and logged, else a
// new one. Pure functions; randomness is the caller's.

#include <array>
#include <string_view>

#include "base/random.h"
#include "http/fields.h"

namespace weir::http {

/// Room for an id that is made: a random UUID (RFC 9562, 5.4).
using MadeRequestId = std::array<char, 36>;

/// Empty if the client's is missing, repeated, dropped or not fit.
[[nodiscard]] std::string_view own_request_id(const Fields& fields);
[[nodiscard]] std::string_view make_request_id(MadeRequestId& room, Random& random);

}  // namespace weir::http
