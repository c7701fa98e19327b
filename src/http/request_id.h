#pragma once
// The X-Request-Id of a request: the client's own, if it is fit to be passed on and logged, else a
// new one. Functions without state, thread-safe; the random generator belongs to the caller.

#include <array>
#include <string_view>

#include "base/random.h"
#include "http/fields.h"

namespace weir::http {

/// Room for a new id, which is a random UUID (RFC 9562, 5.4).
using MadeRequestId = std::array<char, 36>;

/// The client's id, a view of the head's bytes: 1 to 128 letters, digits and characters of
/// "-_.:/+=@~". Empty if the field is missing, repeated or dropped (Field::dropped), or has another
/// value.
[[nodiscard]] std::string_view own_request_id(const Fields& fields);
/// Writes a new id into `room` and returns a view of it.
[[nodiscard]] std::string_view make_request_id(MadeRequestId& room, Random& random);

}  // namespace weir::http
