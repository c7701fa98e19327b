#pragma once
// Flags of the subcommands and where their values come from: the flag, else its WEIR_… variable.
// Internal to app.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "app/remote.h"
#include "node/loader.h"

namespace weir::app {

/// One flag for each scalar key of the sidecar's own file, and --config.
class ConfigFlags {
  public:
    void add_to(CLI::App& command);
    /// Variables first, flags over them.
    [[nodiscard]] node::ConfigSource source() const;

  private:
    std::string config_;
    std::map<std::string, std::vector<std::string>> given_;  ///< by key
};

/// --admin, --admin-token-file and --output.
class RemoteFlags {
  public:
    void add_to(CLI::App& command);
    [[nodiscard]] Result<RemoteOptions> options() const;

  private:
    std::string admin_ = "127.0.0.1:9901";
    std::string token_file_;
    std::string output_ = "table";
};

/// --who, --why and, where a change may end by itself, --expires-in.
class NoteFlags {
  public:
    void add_to(CLI::App& command, bool may_expire = true);
    [[nodiscard]] ChangeNote note() const;

  private:
    ChangeNote note_;
};

/// What the person who typed the line is called: $USER, else the numeric user.
[[nodiscard]] std::string current_user();

}  // namespace weir::app
