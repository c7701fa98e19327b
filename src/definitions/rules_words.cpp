// The texts of errors.

#include <utility>

#include "base/assert.h"
#include "definitions/rules.h"

namespace weir::definitions {
namespace {

using limiter::kMaxChainConcurrency;
using limiter::kMaxChainDepth;
using limiter::kMaxChainLimits;
using limiter::kMaxDefinitions;

DefinitionError error_of(std::string_view quota, std::string field, std::string message) {
    WEIR_ASSERT(!message.empty());
    return {0, std::string(quota), std::move(field), std::move(message), {}};
}

}  // namespace

DefinitionError chain_error(std::string_view quota, ChainFault fault) {
    switch (fault) {
        case ChainFault::own_ancestor:
            return error_of(quota, "parent", "is its own ancestor");
        case ChainFault::too_long:
            return error_of(quota, "parent",
                            "more than " + std::to_string(kMaxChainDepth) +
                                " quotas in a chain, or a cycle above this one");
        case ChainFault::too_many_limits:
            return error_of(quota, "limits",
                            "more than " + std::to_string(kMaxChainLimits) + " limits in a chain");
        case ChainFault::too_many_concurrency:
            break;
    }
    return error_of(quota, "limits",
                    "more than " + std::to_string(kMaxChainConcurrency) +
                        " limits with 'concurrency' in a chain");
}

DefinitionError same_shape_error(std::string_view quota, std::string_view other) {
    return error_of(quota, "name",
                    other == quota ? "defined twice"
                                   : "matches the same names as '" + std::string(other) + "'");
}

DefinitionError missing_parent_error(std::string_view quota, std::string_view parent) {
    return error_of(quota, "parent", "there is no quota '" + std::string(parent) + "'");
}

DefinitionError idle_parent_error(std::string_view quota, std::string_view parent) {
    return error_of(quota, "parent", "'" + std::string(parent) + "' is not in force itself");
}

DefinitionError refusal_error(const limiter::RefusedChange& refused) {
    DefinitionError error;
    switch (refused.why) {
        case limiter::ChangeObjection::too_many:
            error = error_of(refused.name, "",
                             "there are " + std::to_string(kMaxDefinitions) + " quotas already");
            break;
        case limiter::ChangeObjection::own_ancestor:
            error = chain_error(refused.name, ChainFault::own_ancestor);
            break;
    }
    error.index = refused.index;
    return error;
}

std::string too_many_limits() {
    return "more than " + std::to_string(limiter::kMaxLimitsPerQuota) + " limits in a quota";
}

std::string did_you_mean(std::string_view name) {
    return name.empty() ? "" : "did you mean '" + std::string(name) + "'?";
}

}  // namespace weir::definitions
