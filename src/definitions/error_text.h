#pragma once
// Private to the definition store: errors of definitions as text for people. Pure functions.

#include <algorithm>
#include <string>
#include <vector>

#include "limiter/definition.h"

namespace weir::definitions {

inline std::string describe(const limiter::DefinitionError& error) {
    std::string text =
        error.quota + (error.field.empty() ? "" : ": " + error.field) + ": " + error.message;
    return error.suggestion.empty() ? text : text + " (" + error.suggestion + ")";
}

inline std::string describe_all(const std::vector<limiter::DefinitionError>& errors) {
    constexpr std::size_t most = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(errors.size(), most); ++i) {
        text += (i == 0 ? "" : "; ") + describe(errors[i]);
    }
    if (errors.size() > most) {
        text += "; and " + std::to_string(errors.size() - most) + " more";
    }
    return text;
}

}  // namespace weir::definitions
