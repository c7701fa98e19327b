#pragma once
// A quota definition for the tests of definitions: a name and one limit a second.

#include <string>
#include <utility>

#include "limiter/definition.h"

namespace weir::definitions::test {

inline limiter::QuotaDefinition quota(std::string name, double amount) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits.push_back(limit);
    return definition;
}

}  // namespace weir::definitions::test
