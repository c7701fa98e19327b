#pragma once
// Turns what every member of a fleet knows about itself into the plain figures of /metrics and the
// admin API. For the control thread. The figures are copies.

#include <cstdint>
#include <map>
#include <string>

#include "admin/sources.h"
#include "cluster/cluster.h"

namespace weir::node {

[[nodiscard]] std::map<std::string, std::uint64_t> driver_events(
    const cluster::ClusterStatistics& statistics);
[[nodiscard]] admin::ClusterFigures cluster_figures(cluster::Cluster& cluster);
/// Adds the quota sets in force and their hash to the figures of the last reload.
[[nodiscard]] admin::ConfigFigures with_quota_sets(admin::ConfigFigures figures,
                                                   cluster::Cluster& cluster);
[[nodiscard]] admin::BuildFigures build_figures();

}  // namespace weir::node
