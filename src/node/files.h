#pragma once
// Reads files of configuration. The size of a file is bounded, and errors name the file. The
// functions block on the file system and are not for threads that serve requests. They keep
// nothing, so any other thread may call them.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "config/quota_document.h"

namespace weir::node {

[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Reads the next bytes of a file into the front of a buffer and returns how many; 0 at the end,
/// and for a file that cannot be read.
[[nodiscard]] std::function<std::size_t(std::span<char>)> read_in_pieces(const std::string& path);

/// The quota files for these paths. A file stands for itself, a directory for its *.yaml, *.yml and
/// *.json files in the order of their names; a directory without one is a warning. Files whose
/// names begin with a dot are left out, because Kubernetes uses them inside a ConfigMap.
[[nodiscard]] std::vector<std::string> expand_quota_paths(const std::vector<std::string>& paths,
                                                          config::Diagnostics& diagnostics);

/// The texts of these files. A file that cannot be read becomes an error in `diagnostics`.
[[nodiscard]] std::vector<config::SourceText> read_sources(const std::vector<std::string>& files,
                                                           config::Diagnostics& diagnostics);

/// Adds an error about a file as a whole.
void report_file(const std::string& file, const std::string& what,
                 config::Diagnostics& diagnostics);

}  // namespace weir::node
