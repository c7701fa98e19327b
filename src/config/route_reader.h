#pragma once
// Reads the `routes` of the sidecar's own file. Internal to config. Functions without state, for
// any thread. They write to the caller's diagnostics.

#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"
#include "routing/route_settings.h"

namespace weir::config {

struct ReadRoutes {
    std::vector<routing::RouteSettings> routes;
    std::vector<bool> bad;  ///< for each route: it could not be read whole
};
[[nodiscard]] ReadRoutes read_routes(NodeRef list, Diagnostics& diagnostics);

/// Reports the errors that the router itself finds, each at its place below `list`. Of routes that
/// are bad, only those of patterns: what was left out would only lead to others.
void check_routes(const routing::RoutingSettings& settings, NodeRef list,
                  const std::vector<bool>& bad, Diagnostics& diagnostics);

}  // namespace weir::config
