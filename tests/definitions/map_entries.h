#pragma once
// All entries of a map, for tests that compare maps.

#include <vector>

#include "definitions/map.h"

namespace weir::definitions::test {

/// In the order of buckets, leaves and names.
inline std::vector<DefinitionEntry> entries_of(const DefinitionMap& map) {
    std::vector<DefinitionEntry> entries;
    for (std::size_t bucket = 0; bucket < DefinitionMap::kBuckets; ++bucket) {
        for (std::size_t leaf = 0; leaf < DefinitionMap::kLeaves; ++leaf) {
            map.for_each_in_leaf(bucket, leaf, [&](const DefinitionEntry& entry) {
                entries.push_back(entry);
                return true;
            });
        }
    }
    return entries;
}

}  // namespace weir::definitions::test
