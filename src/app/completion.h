#pragma once
// The completion of commands and flags in a shell, made from the tree of commands, so that it knows
// each of them. Pure; internal to app.

#include <CLI/CLI.hpp>
#include <string>

namespace weir::app {

/// A script for bash. Where no command or flag fits, it completes names of files.
[[nodiscard]] std::string bash_completion(CLI::App& app);

}  // namespace weir::app
