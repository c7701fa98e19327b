#pragma once
// Makes quotas, documents and authors for the tests of the store of definitions.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "definitions/store.h"

namespace weir::definitions::test {

using namespace std::chrono_literals;
using limiter::QuotaDefinition;

inline constexpr Instant kStart{1h};

inline QuotaDefinition quota(std::string name, std::optional<std::string> parent, double amount) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits.push_back(limit);
    return definition;
}

inline FileDocument document(std::optional<std::uint64_t> generation, double amount) {
    return {"storage", generation, {quota("s3", {}, 1000), quota("s3/{bucket}", "s3", amount)}};
}

inline Edit by(std::string who) { return {std::move(who), "test", std::nullopt}; }

inline double amount_of(DefinitionStore& store, std::string_view name, Instant now = kStart) {
    const auto found = store.find(name, now);
    return found && found->definition ? found->definition->limits[0].amount : -1;
}

}  // namespace weir::definitions::test
