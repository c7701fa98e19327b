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

/// The errors of a set of definitions: the first ones, and how many there are. Nobody reads a
/// longer list, and a document of a megabyte may have some hundred thousand errors.
class DefinitionErrors {
  public:
    static constexpr std::size_t kMostListed = 100;

    void add(DefinitionError error);
    /// Counts an error that is not listed. Only if full().
    void count_one();

    /// Whether further errors are only counted.
    [[nodiscard]] bool full() const { return listed_.size() >= kMostListed; }
    [[nodiscard]] const std::vector<DefinitionError>& listed() const { return listed_; }
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    std::vector<DefinitionError> listed_;
    std::size_t count_ = 0;  // also of those that are not listed
};

/// The error as one line: "s3/{bucket}: limits[0].low: must be above 0: nothing would ever pass".
[[nodiscard]] std::string describe(const DefinitionError& error);
/// The first twenty errors, and how many more there are.
[[nodiscard]] std::string describe_all(const std::vector<DefinitionError>& errors);

}  // namespace weir::definitions
