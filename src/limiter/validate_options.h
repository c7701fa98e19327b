#pragma once
// The rules of a quota's modes and options, apart from the tree's. Internal to limiter. Pure.

#include <functional>
#include <string>

#include "limiter/definition.h"

namespace weir::limiter {

/// Takes the field, what is wrong with it, and what may be done about it (or nothing).
using Complain =
    std::function<void(std::string field, std::string message, std::string suggestion)>;

/// enforced_share, safe, refusal, headers: each error of one definition.
void check_options(const QuotaDefinition& definition, const Complain& complain);

}  // namespace weir::limiter
