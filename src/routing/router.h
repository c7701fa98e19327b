#pragma once
// Finds the quota names and the weight of a request. Routes are compiled once into an immutable
// Router that all workers share. route() allocates nothing once the Scratch of the calling thread
// has grown. It works on normalised copies of path and host and does not change the request.
//
// Thread-safety: Router is immutable; a Scratch belongs to one thread. The names in a result are
// views into the Scratch and valid until its next use.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "routing/client.h"
#include "routing/name_lists.h"
#include "routing/route_settings.h"

namespace weir::http {
class RequestHead;
}

namespace weir::routing {

class CompiledRoutes;
class ScratchState;

/// Buffers for one thread's routing.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    [[nodiscard]] ScratchState& state() { return *state_; }

  private:
    std::unique_ptr<ScratchState> state_;
};

enum class RouteOutcome : std::uint8_t {
    routed,            ///< a route matches; its names and weight are in the result
    unrouted,          ///< no route matches, so the request passes without quota
    ambiguous_path,    ///< the path can be read in several ways, so it is answered with 400
    ambiguous_fields,  ///< the same of a field that a route's match captures
};

struct RouteResult {
    RouteOutcome outcome = RouteOutcome::unrouted;
    /// For `ambiguous_path` and `ambiguous_fields`: one sentence for the client.
    std::string_view explanation;
    std::size_t route = 0;
    /// Quota names in the order in which they are tried, of all lists of the route. Of each list
    /// the first quota that exists applies to the request.
    std::span<const std::string_view> names;
    /// Where each list ends in `names`. A list is empty if a capture of each of its names is.
    std::span<const std::uint8_t> list_ends;
    [[nodiscard]] NameLists lists() const { return {names, list_ends}; }
    /// The operation of S3, such as "ListObjectsV2"; of other routes the method; empty if unknown.
    std::string_view operation;
    /// What the request adds to limits in requests and in cost: finite, not negative, at most
    /// max_weight. Not used with weight_is_request_bytes.
    double weight = 1;
    bool weight_is_request_bytes = false;
    /// A trusted client stated a weight that is not valid (the default counts), or one above
    /// max_weight (max_weight counts).
    bool weight_invalid = false;
    bool weight_clamped = false;
    /// The name of the request field that states weights on this route; empty: none. The view is
    /// valid as long as the Router.
    std::string_view weight_field;
    /// The bytes of the request's body, 0 without one. Nothing for a chunked body, whose bytes are
    /// counted as they pass.
    std::optional<std::uint64_t> request_bytes;
};

class Router {
  public:
    ~Router();
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    /// The router, or all errors of the settings. Without routes every request is `unrouted`.
    using Compiled = std::variant<std::shared_ptr<const Router>, std::vector<RouteError>>;
    [[nodiscard]] static Compiled compile(const RoutingSettings& settings);

    /// `head` must be complete; `client` has sent it.
    [[nodiscard]] RouteResult route(const http::RequestHead& head, const Client& client,
                                    Scratch& scratch) const;
    /// Whether a response with this status gives back the charge on this route.
    [[nodiscard]] bool refunds(std::size_t route, unsigned status) const;
    /// The names of all request fields that routes read to match, to weigh or to name quotas, each
    /// once.
    [[nodiscard]] std::vector<std::string> fields_read() const;

  private:
    explicit Router(std::unique_ptr<CompiledRoutes> routes);
    std::unique_ptr<CompiledRoutes> routes_;
};

}  // namespace weir::routing
