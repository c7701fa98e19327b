#pragma once
// Puts quotas in force where there is no store of definitions: in the simulator, in tests and in
// benchmarks. A process of the product has an engine, whose store validates definitions and hands
// changes to the limiter. Here a set is validated as a whole and becomes changes at once.
//
// Each function returns the errors. If there are any, nothing has changed; otherwise the quotas are
// in force. All of it is in the header, so that a test of any module may use it. For the limiter's
// control thread. They keep nothing.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "definitions/rules.h"
#include "limiter/limiter.h"

namespace weir::sim {

/// Gives changes to the limiter. Returns an error for each change that the limiter left out.
[[nodiscard]] inline std::vector<definitions::DefinitionError> give(
    limiter::Limiter& limiter, std::span<const limiter::DefinitionChange> changes, Instant now) {
    std::vector<limiter::RefusedChange> refused;
    (void)limiter.change(changes, now, &refused);
    std::vector<definitions::DefinitionError> errors;
    errors.reserve(refused.size());
    for (const limiter::RefusedChange& change : refused) {
        errors.push_back(definitions::refusal_error(change));
    }
    return errors;
}

/// Replaces the whole set that is in force. The limiter gets the definitions in this order; then
/// those that are not in the set any more are taken away.
[[nodiscard]] inline std::vector<definitions::DefinitionError> replace_quotas(
    limiter::Limiter& limiter, std::span<const limiter::QuotaDefinition> set, Instant now) {
    std::vector<definitions::DefinitionError> errors = definitions::validate(set).listed();
    if (!errors.empty()) {
        return errors;
    }
    std::vector<limiter::DefinitionChange> changes;
    std::unordered_set<std::string_view> names;
    for (const limiter::QuotaDefinition& definition : set) {
        changes.push_back({definition.name, definition});
        names.insert(definition.name);
    }
    for (limiter::QuotaDefinition& former : limiter.definitions()) {
        if (!names.contains(former.name)) {
            changes.push_back({std::move(former.name), std::nullopt});
        }
    }
    return give(limiter, changes, now);
}

/// Adds one quota, or replaces the one that has its name.
[[nodiscard]] inline std::vector<definitions::DefinitionError> put_quota(
    limiter::Limiter& limiter, const limiter::QuotaDefinition& definition, Instant now) {
    std::vector<limiter::QuotaDefinition> set = limiter.definitions();
    std::erase_if(set, [&](const auto& other) { return other.name == definition.name; });
    set.push_back(definition);
    std::vector<definitions::DefinitionError> errors = definitions::validate(set).listed();
    if (errors.empty()) {
        const limiter::DefinitionChange change{definition.name, definition};
        errors = give(limiter, {&change, 1}, now);
    }
    return errors;
}

/// Takes one quota away. It must not be the parent of another one.
[[nodiscard]] inline std::vector<definitions::DefinitionError> take_quota_away(
    limiter::Limiter& limiter, std::string_view name, Instant now) {
    std::vector<limiter::QuotaDefinition> rest = limiter.definitions();
    if (std::erase_if(rest, [&](const auto& other) { return other.name == name; }) == 0) {
        return {{0, std::string(name), "", "there is no such quota", ""}};
    }
    std::vector<definitions::DefinitionError> errors = definitions::validate(rest).listed();
    if (errors.empty()) {
        const limiter::DefinitionChange change{std::string(name), std::nullopt};
        errors = give(limiter, {&change, 1}, now);
    }
    return errors;
}

}  // namespace weir::sim
