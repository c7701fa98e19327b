#pragma once
// From what proxy and cluster count to the plain figures of /metrics. Pure.

#include <cstdint>
#include <map>
#include <string>

#include "admin/sources.h"
#include "cluster/cluster.h"
#include "proxy/statistics.h"

namespace weir::app {

[[nodiscard]] admin::ProxyFigures to_figures(const proxy::Statistics& statistics);
[[nodiscard]] std::map<std::string, std::uint64_t> driver_events(
    const cluster::Statistics& statistics);
[[nodiscard]] admin::BuildFigures build_figures();

}  // namespace weir::app
