#pragma once
// Reads the parts of a story file that describe the fleet and what happens to it. Internal to
// story_file. Functions without state. They write to the caller's story and diagnostics.

#include <map>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"
#include "sim/story.h"

namespace weir::sim {

/// The names of the copies of each quota, by the name that the file gives the quota.
using QuotaCopies = std::map<std::string, std::vector<std::string>, std::less<>>;
/// The places in the file of quotas with a limit of requests in flight.
using QuotasInFlight = std::vector<config::NodeRef>;

void read_fleet(config::NodeRef node, WorldPlan& plan, config::Diagnostics& diagnostics);
void read_network(config::NodeRef node, NetworkFaults& faults, config::Diagnostics& diagnostics);
[[nodiscard]] QuotaCopies read_quotas(config::NodeRef node, WorldPlan& plan,
                                      QuotasInFlight& in_flight, config::Diagnostics& diagnostics);
void read_load(config::NodeRef node, WorldPlan& plan, config::Diagnostics& diagnostics);
void read_steps(config::NodeRef node, const QuotaCopies& copies, Story& story,
                config::Diagnostics& diagnostics);

}  // namespace weir::sim
