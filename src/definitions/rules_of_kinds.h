#pragma once
// The rules about limits of kinds other than rates, and about fields that belong to limits of some
// kinds only. They are a part of validate_alone() (rules.h). Internal to definitions. Pure
// functions.

#include "definitions/rules_of_options.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// Calls `complain` for each error in the limits of windows and of requests in flight, and for each
/// field of a limit that has no meaning with its kind.
void check_kinds(const limiter::QuotaDefinition& definition, const Complain& complain);

}  // namespace weir::definitions
