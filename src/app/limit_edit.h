#pragma once
// The part of an edit (quota_edit.h) that changes the limits of a quota. Pure.

#include "app/quota_edit.h"
#include "base/result.h"
#include "limiter/definition.h"

namespace weir::app {

/// Changes the limits that the flags mean; without such flags nothing. Errors name the wrong flag.
[[nodiscard]] Result<void> edit_limits(limiter::QuotaDefinition& definition, const QuotaEdit& edit);

}  // namespace weir::app
