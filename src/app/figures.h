#pragma once
// Turns what the proxy counts into the plain figures of /metrics. The functions are pure.

#include "admin/sources.h"
#include "proxy/statistics.h"

namespace weir::app {

[[nodiscard]] admin::ProxyFigures to_figures(const proxy::Statistics& statistics);

}  // namespace weir::app
