#pragma once
// The metrics of settings, quota files and the snapshot. Called by Metrics, on the control thread.
// It keeps nothing.

#include "admin/families.h"
#include "admin/figures.h"

namespace weir::admin {

/// Adds what was read from files, and what came of it.
void add_config(Families& families, const ConfigFigures& config);

}  // namespace weir::admin
