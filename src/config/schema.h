#pragma once
// JSON Schemas (draft 7) of the two kinds of files that weir reads, for editors and other programs.
// They are made from the same tables of fields as the readers, the docs and --help. Of routes and
// of what a quota document says besides its quotas there is no table, so these parts are written
// here; a test compares them with docs/configuration.md.
//
// A schema is never stricter than the reader about good files of the usual form, but it cannot say
// everything that the reader checks, such as whether a parent exists. Pure functions.

#include <string>

namespace weir::config {

[[nodiscard]] std::string settings_schema();
[[nodiscard]] std::string quotas_schema();

}  // namespace weir::config
