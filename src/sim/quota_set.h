#pragma once
// Quotas put in force by whoever has no store of definitions: the simulator, tests and benches.
// A product's process has an engine, whose store validates what it is given and hands the limiter
// changes; here a set is validated whole and becomes changes at once.
//
// Each function returns what is wrong, and then nothing has changed; an empty result means that the
// quotas are in force. Only headers, so that a test of any module may use it. On the limiter's
// control thread.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "limiter/limiter.h"

namespace weir::sim {

/// Replaces the whole set that is in force. Definitions are given to the limiter in this order,
/// then what is not in the set any more is taken away.
[[nodiscard]] inline std::vector<limiter::DefinitionError> replace_quotas(
    limiter::Limiter& limiter, std::span<const limiter::QuotaDefinition> set, Instant now) {
    std::vector<limiter::DefinitionError> errors = limiter::validate(set);
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
    (void)limiter.change(changes, now, &errors);
    return errors;
}

/// Adds one quota, or edits the one of that name.
[[nodiscard]] inline std::vector<limiter::DefinitionError> put_quota(
    limiter::Limiter& limiter, const limiter::QuotaDefinition& definition, Instant now) {
    std::vector<limiter::QuotaDefinition> set = limiter.definitions();
    std::erase_if(set, [&](const auto& other) { return other.name == definition.name; });
    set.push_back(definition);
    std::vector<limiter::DefinitionError> errors = limiter::validate(set);
    if (errors.empty()) {
        const limiter::DefinitionChange change{definition.name, definition};
        (void)limiter.change({&change, 1}, now, &errors);
    }
    return errors;
}

/// Takes one quota away, which no other may need as its parent.
[[nodiscard]] inline std::vector<limiter::DefinitionError> take_quota_away(
    limiter::Limiter& limiter, std::string_view name, Instant now) {
    std::vector<limiter::QuotaDefinition> rest = limiter.definitions();
    if (std::erase_if(rest, [&](const auto& other) { return other.name == name; }) == 0) {
        return {{0, std::string(name), "", "there is no such quota", ""}};
    }
    std::vector<limiter::DefinitionError> errors = limiter::validate(rest);
    if (errors.empty()) {
        const limiter::DefinitionChange change{std::string(name), std::nullopt};
        (void)limiter.change({&change, 1}, now, &errors);
    }
    return errors;
}

}  // namespace weir::sim
