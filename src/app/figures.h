#pragma once
// Turns what the proxy counts into the plain figures of /metrics. The functions are pure.

#include "admin/sources.h"
#include "proxy/statistics.h"

namespace weir::app {

/// `routes`: how many routes there are.
[[nodiscard]] admin::ProxyFigures to_figures(const proxy::ProxyStatistics& statistics,
                                             std::size_t routes);

}  // namespace weir::app
