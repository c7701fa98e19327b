#pragma once
// From a request to quota names and a weight. Routes are compiled once into an immutable Router,
// shared by all workers; route() reads it only and allocates nothing once the Scratch of the
// calling thread has grown. Routing works on a normalised copy of path and host; the request stays
// as it is.
//
// Thread-safety: Router is immutable; a Scratch belongs to one thread. Names in a result are views
// into the Scratch, valid until its next use.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

enum class Outcome : std::uint8_t {
    routed,
    unrouted,   ///< no route matches: the request passes without quota
    ambiguous,  ///< the path has no single meaning: 400
};

struct RouteResult {
    Outcome outcome = Outcome::unrouted;
    /// For `ambiguous`: one sentence for the client.
    std::string_view explanation;
    std::size_t route = 0;
    /// Quota names in the order in which they are tried; the first that exists is checked.
    std::span<const std::string_view> names;
    /// S3's operation, "ListObjectsV2"; the method for other routes; empty if unknown.
    std::string_view operation;
    /// Finite, not negative, at most max_weight. What the request adds to limits in requests and
    /// cost; not used with weight_is_request_bytes.
    double weight = 1;
    bool weight_is_request_bytes = false;
    /// What a trusted client stated was no weight (the default holds), or above max_weight.
    bool weight_invalid = false;
    bool weight_clamped = false;
    /// The request field that states weights on this route; empty: none. Valid as the Router is.
    std::string_view weight_field;
    /// The request's body in bytes if it is known before it came (0 without body); nothing for
    /// chunked bodies, which are counted as they pass.
    std::optional<std::uint64_t> request_bytes;
};

class Router {
  public:
    ~Router();
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    /// All errors at once, or the router. No routes: everything is unrouted.
    using Compiled = std::variant<std::shared_ptr<const Router>, std::vector<RouteError>>;
    [[nodiscard]] static Compiled compile(const RoutingSettings& settings);

    /// `head` is complete. `client_trusted`: weights from headers are believed.
    [[nodiscard]] RouteResult route(const http::RequestHead& head, bool client_trusted,
                                    Scratch& scratch) const;
    /// Whether a response of this status is free on the route.
    [[nodiscard]] bool refunds(std::size_t route, unsigned status) const;
    /// The names of the request fields that routes match or weigh by, each once.
    [[nodiscard]] std::vector<std::string> fields_read() const;

  private:
    explicit Router(std::unique_ptr<CompiledRoutes> routes);
    std::unique_ptr<CompiledRoutes> routes_;
};

}  // namespace weir::routing
