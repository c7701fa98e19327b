#pragma once
// The rules about the modes and options of one quota. They are a part of validate_alone()
// (rules.h). Internal to definitions. Pure functions.

#include <functional>
#include <string>

#include "limiter/definition.h"

namespace weir::definitions {

/// Gets the field, the error, and a suggestion (empty if there is none).
using Complain =
    std::function<void(std::string field, std::string message, std::string suggestion)>;

/// Calls `complain` for each error in the share of keys, the safe capacities, the hold
/// time, the refusal and the queue.
void check_options(const limiter::QuotaDefinition& definition, const Complain& complain);

}  // namespace weir::definitions
