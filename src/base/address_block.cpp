#include "base/address_block.h"

#include <algorithm>

namespace weir {

bool AddressBlock::contains(const Endpoint& endpoint) const {
    for (unsigned bit = 0; bit < prefix_bits; ++bit) {
        const unsigned difference =
            static_cast<unsigned>(base.address[bit / 8]) ^ endpoint.address[bit / 8];
        if ((difference & (0x80U >> (bit % 8))) != 0) {
            return false;
        }
    }
    return true;
}

bool contains(std::span<const AddressBlock> blocks, const Endpoint& endpoint) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const AddressBlock& block) { return block.contains(endpoint); });
}

}  // namespace weir
