#pragma once
// All entries of a map, for tests that compare maps.

#include <vector>

#include "definitions/map.h"

namespace weir::definitions::test {

/// In the order of partitions, slots and names.
inline std::vector<DefinitionEntry> entries_of(const DefinitionMap& map) {
    std::vector<DefinitionEntry> entries;
    for (std::size_t partition = 0; partition < DefinitionMap::kPartitions; ++partition) {
        for (std::size_t slot = 0; slot < DefinitionMap::kSlots; ++slot) {
            map.for_each_in_slot(partition, slot, [&](const DefinitionEntry& entry) {
                entries.push_back(entry);
                return true;
            });
        }
    }
    return entries;
}

}  // namespace weir::definitions::test
