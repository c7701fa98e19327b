#pragma once
// The completion of commands and flags in a shell, made from the tree of commands, so that it knows
// each of them. Pure; internal to app.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace weir::app {

/// A script for the shell bash, zsh or fish; nothing for any other word. Where no command or flag
/// fits, it completes names of files.
[[nodiscard]] std::string completion(CLI::App& app, std::string_view shell);

}  // namespace weir::app
