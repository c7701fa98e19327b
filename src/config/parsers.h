#pragma once
// The two parsers behind parse_documents(), for YAML and for JSON. Internal to config. Functions
// without state, for any thread. They write to the caller's diagnostics.

#include <string>
#include <string_view>
#include <vector>

#include "config/parse.h"

namespace weir::config {

[[nodiscard]] std::vector<Document> parse_yaml(std::string_view text, const std::string& file,
                                               const ParseLimits& limits, Diagnostics& diagnostics);
[[nodiscard]] std::vector<Document> parse_json(std::string_view text, const std::string& file,
                                               const ParseLimits& limits, Diagnostics& diagnostics);

}  // namespace weir::config
