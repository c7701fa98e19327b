#pragma once
// JSON Schemas (draft 7) of the two kinds of files that weir reads, for editors and other programs.
// Settings and the fields of a quota come from the same tables as the readers, the docs and --help.
// For routes, and for what a quota document has besides its quotas, there is no table: schema.cpp
// lists their keys, and a test compares these with docs/configuration.md.
//
// A schema is never stricter than the reader about good files of the usual form, but it cannot say
// everything that the reader checks, such as whether a parent exists. Pure functions.

#include <string>

namespace weir::config {

/// The schema of the settings file, as JSON text.
[[nodiscard]] std::string settings_schema();
/// The schema of a quota document, as JSON text.
[[nodiscard]] std::string quotas_schema();

}  // namespace weir::config
