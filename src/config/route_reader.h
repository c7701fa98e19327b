#pragma once
// Reads the `routes` of the sidecar's own file. Internal to config.

#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"
#include "routing/route_settings.h"

namespace weir::config {

[[nodiscard]] std::vector<routing::RouteSettings> read_routes(NodeRef list,
                                                              Diagnostics& diagnostics);

/// Reports the errors that the router itself finds, each at its place below `list`.
void check_routes(const routing::RoutingSettings& settings, NodeRef list, Diagnostics& diagnostics);

}  // namespace weir::config
