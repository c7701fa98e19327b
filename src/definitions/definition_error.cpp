#include "definitions/definition_error.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::definitions {

void DefinitionErrors::add(DefinitionError error) {
    ++count_;
    if (!full()) {
        listed_.push_back(std::move(error));
    }
}

void DefinitionErrors::count_one() {
    WEIR_ASSERT(full());
    ++count_;
}

std::string describe(const DefinitionError& error) {
    const std::string text =
        error.quota + (error.field.empty() ? "" : ": " + error.field) + ": " + error.message;
    return error.suggestion.empty() ? text : text + " (" + error.suggestion + ")";
}

std::string describe_all(const std::vector<DefinitionError>& errors) {
    constexpr std::size_t kMostDescribed = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(errors.size(), kMostDescribed); ++i) {
        text += (i == 0 ? "" : "; ") + describe(errors[i]);
    }
    if (errors.size() > kMostDescribed) {
        text += "; and " + std::to_string(errors.size() - kMostDescribed) + " more";
    }
    return text;
}

}  // namespace weir::definitions
