#pragma once
// Routes whose fixed weights are heavier than a bucket they may be charged to can hold: such a
// request passes only when the bucket is nearly empty, which is seldom what was meant. Pure.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::node {

/// Warns of every route and every quota that one of the route's texts can name, or that is above
/// such a quota, whose `low` is below a weight of the route's constant or table. Captures have any
/// value, whatever they are called; of preset s3 the operation is the one that the weight is for.
/// `file`: where the routes are.
void warn_about_weights(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                        const std::string& file, config::Diagnostics& diagnostics);

}  // namespace weir::node
