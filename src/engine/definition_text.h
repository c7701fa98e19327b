#pragma once
// Private to the definition store: errors of definitions as text for people. Pure functions.

#include <string>

#include "limiter/definition.h"

namespace weir::engine {

inline std::string describe(const limiter::DefinitionError& error) {
    std::string text =
        error.quota + (error.field.empty() ? "" : ": " + error.field) + ": " + error.message;
    return error.suggestion.empty() ? text : text + " (" + error.suggestion + ")";
}

}  // namespace weir::engine
