#pragma once
// Reading configuration files: bounded, with errors that name the file. Blocks; not for the data
// threads. Stateless.

#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "config/quota_document.h"

namespace weir::node {

[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// The quota files that these paths stand for: files as they are, of a directory its *.yaml, *.yml
/// and *.json files in the order of their names (dot files are skipped: a ConfigMap's own
/// machinery).
[[nodiscard]] std::vector<std::string> expand_quota_paths(const std::vector<std::string>& paths,
                                                          config::Diagnostics& diagnostics);

/// All of them; what cannot be read is an error.
[[nodiscard]] std::vector<config::SourceText> read_sources(const std::vector<std::string>& files,
                                                           config::Diagnostics& diagnostics);

/// An error about a file as a whole.
void report_file(const std::string& file, const std::string& what,
                 config::Diagnostics& diagnostics);

}  // namespace weir::node
