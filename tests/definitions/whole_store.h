#pragma once
// All of a store at once, for tests. The program asks page by page, and for changes only.

#include <cstdint>
#include <vector>

#include "definitions/store.h"

namespace weir::definitions::test {

/// Every name of either layer, sorted.
inline std::vector<ListedDefinition> listed(const DefinitionStore& store, Instant now) {
    return store.page({}, {}, SIZE_MAX, now);
}

/// The definitions in force, sorted by name.
inline std::vector<limiter::QuotaDefinition> in_force(const DefinitionStore& store, Instant now) {
    std::vector<limiter::QuotaDefinition> definitions;
    for (const ListedDefinition& row : listed(store, now)) {
        if (row.in_force && row.definition) {
            definitions.push_back(*row.definition);
        }
    }
    return definitions;
}

}  // namespace weir::definitions::test
