#pragma once
// `weir validate` reads what `weir run` would read, opens no socket, and prints every error. It
// blocks on files and keeps nothing: the process ends with it. It runs on the only thread of the
// process.

#include <string>
#include <vector>

#include "node/loader.h"

namespace weir::app {

/// How the result is printed: for people, for programs, or as annotations of GitHub's CI.
enum class ReportFormat { text, json, github };

struct ValidateOptions {
    bool strict = false;  ///< warnings count as errors
    ReportFormat format = ReportFormat::text;
};

/// Reads the sidecar's own file with its quota files, if `source` has a file or overrides, and the
/// quota documents that are given by name. Returns the exit code: 0, or 1 when there are errors.
[[nodiscard]] int validate(const node::ConfigSource& source,
                           const std::vector<std::string>& documents,
                           const ValidateOptions& options);

/// Whether these diagnostics are those of a good configuration. If not, prints why.
[[nodiscard]] bool tell_if_bad(const config::Diagnostics& diagnostics, bool strict);

}  // namespace weir::app
