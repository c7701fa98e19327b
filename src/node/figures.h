#pragma once
// What every member of a fleet shows of itself, as the plain figures of /metrics and the admin API.
// Control thread.

#include <cstdint>
#include <map>
#include <string>

#include "admin/sources.h"
#include "cluster/cluster.h"

namespace weir::node {

[[nodiscard]] std::map<std::string, std::uint64_t> driver_events(
    const cluster::Statistics& statistics);
[[nodiscard]] admin::ClusterFigures cluster_figures(cluster::Cluster& cluster);
/// Adds the quota sets in force and their hash to what a reload wrote.
[[nodiscard]] admin::ConfigFigures with_quota_sets(admin::ConfigFigures figures,
                                                   cluster::Cluster& cluster);
[[nodiscard]] admin::BuildFigures build_figures();

}  // namespace weir::node
