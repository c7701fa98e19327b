// The texts of errors, and suggestions of what was meant.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "definitions/rules.h"

namespace weir::definitions {
namespace {

using limiter::kMaxChainDepth;
using limiter::kMaxChainLimits;
using limiter::kMaxDefinitions;
using limiter::kMaxNameBytes;

DefinitionError error_of(std::string_view quota, std::string field, std::string message) {
    WEIR_ASSERT(!message.empty());
    return {0, std::string(quota), std::move(field), std::move(message), {}};
}

/// The edit distance of two texts, for suggestions.
std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t replace = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
        }
    }
    WEIR_ASSERT(row.back() <= std::max(left.size(), right.size()));
    return row.back();
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
            break;
    }
    return error_of(quota, "limits",
                    "more than " + std::to_string(kMaxChainLimits) + " limits in a chain");
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

std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates) {
    constexpr std::size_t kFar = 3;
    std::size_t best = kFar + 1;
    std::string_view result;
    for (const std::string_view name :
         candidates.first(std::min(candidates.size(), kMostCandidates))) {
        const std::size_t apart =
            std::max(name.size(), text.size()) - std::min(name.size(), text.size());
        if (apart >= best || name.size() > kMaxNameBytes) {
            continue;
        }
        const std::size_t edits = distance(name, text);
        if (edits < best && edits < text.size()) {
            best = edits;
            result = name;
        }
    }
    WEIR_ASSERT(result.empty() || best <= kFar);
    return result.empty() ? "" : "did you mean '" + std::string(result) + "'?";
}

}  // namespace weir::definitions
