#pragma once
// The texts for wrong command lines. Stateless; internal to app.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weir::app {

/// The arguments without the program's name, the last one first, as CLI11 wants them. It takes a
/// flag "--name=" for one without a value, and would read the next flag as its value or assume one.
/// Such a flag becomes two arguments, of which the second one is empty.
[[nodiscard]] std::vector<std::string> for_cli11(const std::vector<std::string>& arguments);
/// The first flag that is given as "--name=" although it takes no value; empty if there is none.
[[nodiscard]] std::string flag_with_empty_value(CLI::App& app,
                                                const std::vector<std::string>& arguments);

/// The exit code of a process whose command line is wrong.
inline constexpr int kExitUsage = 2;

/// Prints the text on standard error; returns kExitUsage.
int complain_usage(const std::string& text);

/// The names of the commands below this one, and its flags: "--config".
[[nodiscard]] std::vector<std::string> commands_of(CLI::App& command);
[[nodiscard]] std::vector<std::string> flags_of(CLI::App& command);
/// The whole name of a command, such as "weir quota set".
[[nodiscard]] std::string path_of(CLI::App& command);

/// The help of a command, with its whole name.
[[nodiscard]] std::string help_of(CLI::App& command);

/// Prints the help of the command with this path, such as {"quota", "set"}. Returns the exit code.
int show_help(CLI::App& app, const std::vector<std::string>& path);

/// The innermost command that was named on the parsed command line.
[[nodiscard]] CLI::App& named_command(CLI::App& app);

/// Names the command, flag or argument that does not exist, and what was probably meant.
/// `arguments` is the whole command line.
[[nodiscard]] std::string explain_unknown_word(CLI::App& app,
                                               const std::vector<std::string>& arguments);
/// Explains any other failure of parsing.
[[nodiscard]] std::string explain_failure(CLI::App& app, const CLI::ParseError& failure);

}  // namespace weir::app
