#pragma once
// What a program gives to weir_open, as the source of settings that a sidecar's flags are. Pure.

#include <string_view>

#include "base/result.h"
#include "node/loader.h"
#include "weir/weir.h"

namespace weir::embed {

/// An error names the line that is wrong, and what was probably meant.
[[nodiscard]] Result<node::ConfigSource> to_source(const weir_options& options);

/// Lines "key = value".
[[nodiscard]] Result<std::vector<config::Override>> read_settings_lines(std::string_view text);

}  // namespace weir::embed
