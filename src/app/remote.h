#pragma once
// The commands that ask a running sidecar through its admin listener. Each prints to standard
// output and returns the exit code of the process: 0, or 1 with the reason on standard error. They
// block and keep nothing: the process has one thread and ends with them.

#include <optional>
#include <string>
#include <vector>

#include "app/quota_edit.h"
#include "config/settings.h"

namespace weir::app {

enum class OutputFormat { table, json };

/// How to reach the sidecar, and how to show the answer.
struct RemoteOptions {
    config::ListenAddress admin;
    std::string token_file;  ///< may be empty
    OutputFormat output = OutputFormat::table;
};

/// Who changes a quota, why, and for how long.
struct ChangeNote {
    std::string who;
    std::string why;
    std::string expires_in;  ///< a duration or "never"; empty: the expiry stays as it is
};

struct QuotaSetCommand {
    std::string name;
    QuotaEdit edit;
    bool absent = false;   ///< hide the quota that a file defines
    bool dry_run = false;  ///< show before and after, change nothing
    ChangeNote note;
};

struct QuotaRemoveCommand {
    std::string name;
    bool dry_run = false;  ///< show before and after, change nothing
    ChangeNote note;
};

struct QuotaApplyCommand {
    std::vector<std::string> files;   ///< files, or directories of files
    bool dry_run = false;             ///< show the differences, change nothing
    bool detailed_exit_code = false;  ///< 2 when there are differences
    ChangeNote note;
};

[[nodiscard]] int quota_list(const RemoteOptions& options, const std::string& prefix);
[[nodiscard]] int quota_get(const RemoteOptions& options, const std::string& name, bool history);
[[nodiscard]] int quota_apply(const RemoteOptions& options, const QuotaApplyCommand& command);
[[nodiscard]] int quota_set(const RemoteOptions& options, const QuotaSetCommand& command);
[[nodiscard]] int quota_remove(const RemoteOptions& options, const QuotaRemoveCommand& command);
[[nodiscard]] int status(const RemoteOptions& options);
[[nodiscard]] int drain(const RemoteOptions& options);

}  // namespace weir::app
