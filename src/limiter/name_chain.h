#pragma once
// The quotas that a name leads to and that have no instance yet, from the name itself upwards.
// A value on the stack of whoever makes them; its texts must outlive it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/decision.h"
#include "limiter/definition.h"

namespace weir::limiter {

struct NameChain {
    struct Level {
        std::uint32_t definition = 0;
        std::uint64_t hash = 0;
        std::string_view name;
        std::string parent;  // holds the name of the next level
    };
    std::array<Level, kMaxChainDepth + 1> levels;  // the lowest first
    std::size_t size = 0;
    LeafId above;  // the first ancestor that has an instance, if any
};

}  // namespace weir::limiter
