#pragma once
// Finds routes some of whose requests pass without a limit, because each of the route's names needs
// something that a request may lack, such as a field. Pure functions, thread-safe.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "routing/route_settings.h"

namespace weir::routing {

struct UnnamedRequests {
    std::size_t route = 0;  ///< index of the route
    std::string without;    ///< what a request lacks whose names are all left out: "header:x-key"
    /// Names that such a request has, but that are no quota's.
    std::vector<std::string> unknown = {};
    friend bool operator==(const UnnamedRequests&, const UnnamedRequests&) = default;
};

/// These routes, in their order; none if the settings have errors. `addresses_known`: each request
/// has the address of a client. `is_quota` says whether a name of a route can be that of a quota;
/// one that cannot does not count. A route without any that can is not among the results.
[[nodiscard]] std::vector<UnnamedRequests> unnamed_requests(
    const RoutingSettings& settings, bool addresses_known,
    const std::function<bool(std::string_view)>& is_quota);

}  // namespace weir::routing
