#pragma once
// Reads the parts of a story file that say what is expected of the story. Internal to story_file.
// Functions without state. They write to the caller's story and diagnostics.

#include "config/diagnostics.h"
#include "config/document.h"
#include "sim/story.h"

namespace weir::sim {

/// To be called after the load was read, because it gives the number of leaves.
void read_expectation(config::NodeRef node, Story& story, config::Diagnostics& diagnostics);
/// To be called after read_expectation().
void read_own_figures(config::NodeRef node, Story& story, config::Diagnostics& diagnostics);

}  // namespace weir::sim
