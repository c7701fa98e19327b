#pragma once
// The flags that several commands have. A flag that is not given has the value of its WEIR_…
// variable. Internal to app.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
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

/// The flags --admin, --admin-token-file and --output.
class RemoteFlags {
  public:
    void add_to(CLI::App& command);
    [[nodiscard]] Result<RemoteOptions> options() const;

  private:
    std::string admin_ = "127.0.0.1:9901";
    std::string token_file_;
    std::string output_ = "table";
};

/// The flags --who, --why and, for changes that may end by themselves, --expires-in.
class NoteFlags {
  public:
    void add_to(CLI::App& command, bool may_expire = true);
    [[nodiscard]] ChangeNote note() const;

  private:
    ChangeNote note_;
};

/// The name of the person who typed the command: $USER, or the number of the user without it.
[[nodiscard]] std::string current_user();

}  // namespace weir::app
