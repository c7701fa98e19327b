#pragma once
// The decision about one request: route, the first of the names that exists, the limiter's check.
// Synchronous: from here to the answer or the upstream nothing is waited for.

#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/limiter.h"
#include "proxy/active_snapshot.h"
#include "proxy/client_side.h"

namespace weir::proxy {

enum class Verdict : std::uint8_t { admitted, unlimited, refused, ambiguous };

struct Admission {
    Verdict verdict = Verdict::unlimited;
    limiter::Decision decision;
    /// For `ambiguous`: a sentence for the client.
    std::string_view explanation;
    /// The request's body counts as cost, too.
    bool cost_is_bytes = false;
};

/// `trusted`: the client may state weights. Decision's name is valid until the turn ends.
[[nodiscard]] Admission admit(ClientSide& client, const ActiveSnapshot& snapshot, bool trusted);

/// Gives back what was charged for a request that never reached the upstream.
void refund(ClientSide& client, const limiter::Charge& charge);

/// Charges what really came, where it differs from what was known before.
void correct(ClientSide& client, Admission& admission, std::uint64_t request_bytes,
             std::uint64_t response_bytes);

/// The refusal as text of a whole response, in the worker's text().
void write_refusal(ClientSide& client, const ActiveSnapshot& snapshot, const Admission& admission,
                   bool keep_alive);
/// RateLimit fields for an admitted request, if they are switched on.
void append_success_fields(std::string& out, ClientSide& client, const ActiveSnapshot& snapshot,
                           const Admission& admission);
/// The quota that refused, or that came nearest to it; valid until the turn ends.
[[nodiscard]] std::string_view quota_name(ClientSide& client, const Admission& admission);

}  // namespace weir::proxy
