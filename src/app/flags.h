#pragma once
// The flags that several commands have. A flag that is not given has the value of its WEIR_…
// variable. Internal to app. Not thread-safe: the command line is read before there is a second
// thread. CLI11 writes what was given into these objects, so they must live as long as the command.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/remote.h"
#include "node/loader.h"

namespace weir::app {

/// The flags --config and --route, and one flag for each key of the table of settings.
class ConfigFlags {
  public:
    void add_to(CLI::App& command);
    /// The values that were given. If a key has both a variable and a flag, the flag wins.
    [[nodiscard]] node::ConfigSource source() const;

  private:
    std::string config_;
    std::vector<std::string> routes_;
    std::map<std::string, std::vector<std::string>> given_;  ///< by key
};

/// The WEIR_… variables of the environment that no command reads and that are probably misspelt,
/// each with the one that was meant.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> misspelt_variables();

/// The flags --admin, --admin-token-file and --output. The variable of --admin has another name,
/// because WEIR_ADMIN is that of the setting `admin`: where a sidecar listens.
class RemoteFlags {
  public:
    void add_to(CLI::App& command);
    [[nodiscard]] Result<RemoteOptions> options() const;

  private:
    std::string admin_ = "127.0.0.1:9901";
    std::vector<const CLI::Option*> admin_options_;  ///< --admin of each command
    std::string token_file_;
    std::string output_ = "table";
};

/// The flags --who, --why and, for changes that may end by themselves, --expires-in.
class NoteFlags {
  public:
    void add_to(CLI::App& command, bool may_expire = true);
    [[nodiscard]] ChangeNote note() const;
    /// Why the time that was given is none; empty if it is one.
    [[nodiscard]] std::string what_is_wrong() const;

  private:
    ChangeNote note_;
};

/// The name of the user who runs the command, by the system's table of users; else its number.
[[nodiscard]] std::string current_user();

}  // namespace weir::app
