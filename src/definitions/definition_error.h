#pragma once
// Errors of quota definitions, with texts for people: errors of one definition by itself, and
// errors of its place among others. All these texts are made in this module: rules.h has those
// about definitions, store.h those about edits and documents. Plain values and pure functions, as
// thread-safe as any value.

#include <cstddef>
#include <string>
#include <vector>

namespace weir::definitions {

/// One error in a set of definitions.
struct DefinitionError {
    std::size_t index = 0;   // of the definition in the set, for callers that gave a list
    std::string quota;       // its name
    std::string field;       // "limits[0].low"; empty = the quota as a whole
    std::string message;     // what is wrong
    std::string suggestion;  // what may have been meant, or empty
};

/// The error as one line: "s3/{bucket}: limits[0].low: must be above 0: nothing would ever pass".
[[nodiscard]] std::string describe(const DefinitionError& error);
/// The first twenty errors, and how many more there are.
[[nodiscard]] std::string describe_all(const std::vector<DefinitionError>& errors);

}  // namespace weir::definitions
