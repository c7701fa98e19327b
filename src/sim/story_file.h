#pragma once
// Reads and writes stories as text: YAML or JSON, one or several in a file. docs/simulator.md
// describes the format. Reading is strict: a key that is unknown or given twice and a value out of
// bounds are errors with their place, and all errors are reported at once. A story that was read
// without an error can be run without failing an assertion of the simulator. Pure.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "sim/story.h"

namespace weir::sim {

/// Reads all stories of a text. They must not be used if `diagnostics` has errors afterwards.
[[nodiscard]] std::vector<Story> read_stories(const config::SourceText& source,
                                              config::Diagnostics& diagnostics);

/// The story as a text that can be read back, without what is expected of it.
[[nodiscard]] std::string story_text(const Story& story);

}  // namespace weir::sim
