#pragma once
// Turns the options that a program gives to weir_open into a source of settings, like the flags and
// variables of a sidecar. The functions are pure.

#include <string_view>

#include "base/result.h"
#include "node/loader.h"
#include "weir/weir.h"

namespace weir::embed {

/// An error names the wrong line and suggests the key that was probably meant.
[[nodiscard]] Result<node::ConfigSource> to_source(const weir_options& options);

/// Reads lines of the form "key = value".
[[nodiscard]] Result<std::vector<config::Override>> read_settings_lines(std::string_view text);

}  // namespace weir::embed
