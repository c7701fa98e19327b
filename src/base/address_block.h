#pragma once
// Blocks of addresses, such as "10.0.0.0/8". Plain values; pure functions, thread-safe.

#include <span>

#include "base/endpoint.h"

namespace weir {

/// A block of addresses, "10.0.0.0/8" or "2001:db8::/32"; a single address is a block of one.
struct AddressBlock {
    Endpoint base;               ///< port 0; IPv4 as ::ffff:a.b.c.d
    unsigned prefix_bits = 128;  ///< counted in the 128 bits of `base`

    [[nodiscard]] bool contains(const Endpoint& endpoint) const;
    friend bool operator==(const AddressBlock&, const AddressBlock&) = default;
};

/// Whether one of the blocks contains the address.
[[nodiscard]] bool contains(std::span<const AddressBlock> blocks, const Endpoint& endpoint);

}  // namespace weir
