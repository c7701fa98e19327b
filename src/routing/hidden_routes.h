#pragma once
// Finds routes that no request can reach, because an earlier route takes every request that they
// match. Pure functions. Only what can be told from the settings alone is found: a route that
// several earlier ones hide together is not.

#include <cstddef>
#include <vector>

#include "routing/route_settings.h"

namespace weir::routing {

struct HiddenRoute {
    std::size_t route = 0;  ///< index of the route that gets no request
    std::size_t by = 0;     ///< index of the first earlier route that takes all of its requests
    friend bool operator==(const HiddenRoute&, const HiddenRoute&) = default;
};

/// At most this many routes are compared with each other; of later ones nothing is said.
inline constexpr std::size_t kMaxComparedRoutes = 2'000;

/// The hidden routes in their order; none if the settings have errors.
[[nodiscard]] std::vector<HiddenRoute> hidden_routes(const RoutingSettings& settings);

}  // namespace weir::routing
