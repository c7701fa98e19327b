#pragma once
// Divides a number of requests among origins that want some: max-min fairness in whole requests
// (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2). Who wants less than an equal
// part gets all of it, and the others divide the rest equally, so an origin that wants very much
// takes nothing from one that wants little.
//
// A pure function, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

namespace weir::sync {

/// How many each gets, in the order of `wanted`; never more than it wants, and in total never more
/// than `most`. What cannot be divided equally goes to some, one request each; the next `turn`
/// chooses the next ones.
[[nodiscard]] std::vector<std::uint64_t> divide(std::uint64_t most,
                                                std::span<const std::uint64_t> wanted,
                                                std::uint64_t turn);

}  // namespace weir::sync
