#pragma once
// The memory order of counters and levels that stand for nothing but themselves. A constant.

#include <atomic>

namespace weir {

inline constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace weir
