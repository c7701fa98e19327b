#pragma once
// The decision about one request: route, the first of the names that exists, the limiter's check.
// Synchronous: from here to the answer or the upstream nothing is waited for.

#include <cstdint>
#include <span>
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
    /// Which of the router's routes.
    std::size_t route = 0;
    /// The request field that states weights on it; empty: none. Valid as the snapshot is.
    std::string_view weight_field{};
};

/// `trusted`: the client may state weights. Decision's name is valid until the turn ends.
[[nodiscard]] Admission admit(ClientSide& client, const ActiveSnapshot& snapshot, bool trusted,
                              limiter::CheckMode mode);
/// The same for a head that did not come from this client itself.
[[nodiscard]] Admission admit(ClientSide& client, const http::RequestHead& head,
                              const ActiveSnapshot& snapshot, bool trusted,
                              limiter::CheckMode mode);
/// By the first of these quotas that exists; `head` for those that are enforced by a field.
[[nodiscard]] Admission admit_by_name(ClientSide& client, const http::RequestHead& head,
                                      std::span<const std::string_view> names,
                                      const limiter::Weights& weights, limiter::CheckMode mode);

/// How this request is to be checked: a tier in front may have judged it, or this one is such a
/// tier. Takes what it says about that out of the head. A word that lets everything pass is
/// believed of nobody but judging_proxies: a proxy that is trusted with addresses may hand on its
/// clients'.
[[nodiscard]] limiter::CheckMode check_mode(ClientSide& client, const ActiveSnapshot& snapshot);

/// The refusal as text of a whole response, in the worker's text(); gives its status, which is 429
/// if the quota's own is above the highest.
unsigned write_refusal(ClientSide& client, const ActiveSnapshot& snapshot,
                       const Admission& admission, bool keep_alive, unsigned highest_status = 599);
/// RateLimit fields for an admitted request, if they are switched on.
void append_success_fields(std::string& out, ClientSide& client, const ActiveSnapshot& snapshot,
                           const Admission& admission);
/// The quota that refused, or that came nearest to it; valid until the turn ends.
[[nodiscard]] std::string_view quota_name(ClientSide& client, const Admission& admission);

}  // namespace weir::proxy
