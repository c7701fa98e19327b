#pragma once
// The families of the metrics page about single quotas: what each admitted and refused, how full it
// is, and its limits of each kind. metrics.h has the page.
//
// A pure function, thread-safe.

#include <vector>

#include "admin/families.h"
#include "admin/sources.h"

namespace weir::admin {

/// Adds the families of these quotas to the page.
void add_quotas(Families& families, const std::vector<QuotaFigures>& quotas);

}  // namespace weir::admin
