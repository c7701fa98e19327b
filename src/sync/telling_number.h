#pragma once
// The numbers of tellings that replace each other: each next one of a sender is larger by 1, and 0
// follows 65,535. Pure functions, thread-safe.

#include <cstdint>

namespace weir::sync {

/// Whether the number is one of the 32,768 before the other.
[[nodiscard]] inline bool is_older(std::uint16_t number, std::uint16_t than) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(number - than)) < 0;
}

}  // namespace weir::sync
