#pragma once
// Decides by the table of keys (settings_fields.h) what a reload does with settings that were read
// again: each key either takes effect at once or waits for a restart. Pure.

#include <string>
#include <vector>

#include "config/settings.h"
#include "config/settings_fields.h"

namespace weir::config {

[[nodiscard]] bool waits_for_restart(AtReload at_reload);

/// The keys that differ and wait for a restart, in the order of the documentation. Where the table
/// says so, the section ("cluster") is named once instead of its keys.
[[nodiscard]] std::vector<std::string> changes_after_restart(const Settings& in_force,
                                                             const Settings& wanted);

/// Copies to `in_force` all values that take effect without a restart: the routes, and every key
/// that does not wait for one. All others stay, with their entries in `in_force.given`.
void take_over(const Settings& wanted, Settings& in_force);

}  // namespace weir::config
