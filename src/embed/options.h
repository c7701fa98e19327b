#pragma once
// Turns the options that a program gives to weir_open into a source of settings, like the flags and
// variables of a sidecar. Pure functions, thread-safe.

#include <string_view>

#include "base/result.h"
#include "node/loader.h"
#include "weir/weir.h"

namespace weir::embed {

/// The source owns copies of all texts. Errors: `options.size` is too small, or a line of
/// `options.settings` is wrong (see read_settings_lines()). Files and values are read later, by
/// node::load().
[[nodiscard]] Result<node::ConfigSource> to_source(const weir_options& options);

/// Reads lines of the form "key = value". Empty lines and lines that begin with '#' are skipped. An
/// error names the line, and suggests a key if it is unknown and resembles one.
[[nodiscard]] Result<std::vector<config::Override>> read_settings_lines(std::string_view text);

}  // namespace weir::embed
