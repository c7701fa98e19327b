#pragma once
// Keys for tests: every byte is the same.

#include <cstddef>
#include <cstdint>

#include "gossip/seal.h"

namespace weir::gossip::test {

inline Key test_key(std::uint8_t filling) {
    Key key{};
    key.fill(std::byte{filling});
    return key;
}

}  // namespace weir::gossip::test
