#pragma once
// The decision about one request: the route is found, of each of its lists the first quota that
// exists is chosen, and the limiter checks them. All functions run on the worker's thread and never
// wait. The texts of a judgement are valid as long as the head of the request and the snapshot.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limiter/limiter.h"
#include "proxy/active_snapshot.h"
#include "proxy/client_side.h"
#include "routing/name_lists.h"
#include "routing/router.h"

namespace weir::proxy {

/// `unlimited`: no quota exists for the request. `ambiguous`: path or fields can be read in several
/// ways, so the request is answered with 400.
enum class Verdict : std::uint8_t { admitted, unlimited, refused, ambiguous };

struct Judgement {
    Verdict verdict = Verdict::unlimited;
    limiter::Decision decision;
    /// What was granted, if it was to be obtained.
    double granted = 0;
    /// With `ambiguous`: a sentence for the client.
    std::string_view explanation;
    /// With `ambiguous`: how the request ends.
    Ending doubted = Ending::rejected_path;
    /// A quota of the request had no room for the instance of its name, so that an overflow
    /// instance stands for it.
    bool overflows = false;
    /// The bytes of the request's body are its cost.
    bool cost_is_bytes = false;
    /// The lists of names none of which is that of a quota: bit i stands for the i-th list.
    unsigned lists_without_quota = 0;
    /// The index of the route.
    std::size_t route = 0;
    /// The name of the request field that states weights on this route; empty: none. The view is
    /// valid as long as the snapshot.
    std::string_view weight_field{};
};

/// The first name of each of a request's lists on its way to the limiter; empty for an empty list.
using AskedNames = std::array<limiter::AskedName, routing::kMaxNameLists>;

/// Where a request goes, before it is decided. The first name of each of its lists is being looked
/// up: its place in the limiter's table, which may be far from the processor, comes while other
/// work is done. Valid until the worker routes another request.
struct Routed {
    routing::RouteResult route;
    AskedNames asked;
    /// The client may state weights and say of whom its request is.
    bool trusted = false;
    /// How long routing took, of the requests whose time is taken.
    std::optional<Duration> sampled;
};

/// `trusted`: the client may state weights and say of whom its request is.
[[nodiscard]] Routed route(ClientSide& client, const http::RequestHead& head,
                           const ActiveSnapshot& snapshot, bool trusted);
/// Decides about a request that was routed. The quota's name in the decision is valid until the
/// loop's turn ends. `head` is the client's own or that of a request about which it asks.
[[nodiscard]] Judgement admit(ClientSide& client, const http::RequestHead& head,
                              const Routed& routed, limiter::CheckMode mode);
/// Decides by the first quota of each list that exists. The client's own head has the fields for
/// quotas that are enforced by a field's value.
[[nodiscard]] Judgement admit_by_name(ClientSide& client, const routing::NameLists& lists,
                                      const limiter::Weights& weights, limiter::CheckMode mode,
                                      bool trusted);

/// Takes as many units from the first of these quotas that exists as it has, as admit_by_name()
/// decides about one request.
[[nodiscard]] Judgement obtain_by_name(ClientSide& client, const routing::NameLists& lists,
                                       const limiter::Wish& wish, limiter::CheckMode mode,
                                       bool trusted);

/// How this request is to be checked: a tier in front may have judged it already, or this sidecar
/// may be such a tier. The field that says so is dropped from the head. Because it lets every
/// request pass, only members of judging_proxies are believed; a proxy in trusted_proxies may pass
/// on a field that its own client has written.
[[nodiscard]] limiter::CheckMode check_mode(ClientSide& client, const ActiveSnapshot& snapshot);

/// Writes the refusal as a whole response into the worker's text(). Returns its status, which is
/// 429 if the quota's own status is above `highest_status`.
unsigned write_refusal(ClientSide& client, const ActiveSnapshot& snapshot,
                       const Judgement& judgement, bool keep_alive, unsigned highest_status = 599);
/// Appends the RateLimit fields of an admitted request, if they are switched on.
void append_success_fields(std::string& out, ClientSide& client, const ActiveSnapshot& snapshot,
                           const Judgement& judgement);
/// The quota that refused or that came nearest to refusing. Valid until the loop's turn ends.
[[nodiscard]] std::string_view quota_name(ClientSide& client, const Judgement& judgement);

}  // namespace weir::proxy
