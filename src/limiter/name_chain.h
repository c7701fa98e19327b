#pragma once
// The quotas of a name's chain that have no instance yet, from the name itself upwards. A value on
// the stack of the function that makes those instances. The text of the lowest name must outlive
// it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/decision.h"
#include "limiter/definition.h"

namespace weir::limiter {

struct NameChain {
    struct Link {
        std::uint32_t definition = 0;
        std::uint64_t hash = 0;
        std::string_view name;
        std::string parent;  // holds the name of the next level
    };
    std::array<Link, kMaxChainDepth + 1> levels;  // the lowest first
    std::size_t size = 0;
    LeafId above;  // the lowest quota of the chain that has an instance, if any
};

}  // namespace weir::limiter
