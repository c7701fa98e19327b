#pragma once
// Finds routes with a fixed weight that is larger than a bucket to which they may be charged. Such
// a request passes only when the bucket is nearly empty, which is rarely intended. Pure.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::node {

/// Warns of each pair of a route and a quota where a weight of the route's constant or table is
/// above the quota's `low`. The quotas of a route are those that one of its names can stand for,
/// and those above them. A capture stands for any value; with the preset s3 the capture of the
/// operation stands for the one that has the weight. `file` is the file with the routes.
void warn_about_weights(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                        const std::string& file, config::Diagnostics& diagnostics);

}  // namespace weir::node
