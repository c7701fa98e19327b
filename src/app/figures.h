#pragma once
// From what the proxy counts to the plain figures of /metrics. Pure.

#include "admin/sources.h"
#include "proxy/statistics.h"

namespace weir::app {

[[nodiscard]] admin::ProxyFigures to_figures(const proxy::Statistics& statistics);

}  // namespace weir::app
