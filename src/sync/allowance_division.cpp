#include "sync/allowance_division.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// The largest whole part such that `most` is enough if nobody gets more; and what is left then.
struct EqualPart {
    std::uint64_t part = 0;
    std::uint64_t left = 0;
};

EqualPart find_equal_part(std::uint64_t most, std::vector<std::uint64_t> wanted) {
    std::sort(wanted.begin(), wanted.end());
    std::uint64_t left = most;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::uint64_t others = wanted.size() - i;
        if (wanted[i] > left / others) {
            return {left / others, left % others};
        }
        left -= wanted[i];
    }
    return {wanted.empty() ? 0 : wanted.back(), left};
}

}  // namespace

std::vector<std::uint64_t> divide(std::uint64_t most, std::span<const std::uint64_t> wanted,
                                  std::uint64_t turn) {
    std::vector<std::uint64_t> parts(wanted.begin(), wanted.end());
    const EqualPart equal = find_equal_part(most, parts);
    std::vector<std::size_t> above;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] > equal.part) {
            parts[i] = equal.part;
            above.push_back(i);
        }
    }
    WEIR_ASSERT(above.empty() || equal.left < above.size());
    for (std::size_t i = 0; !above.empty() && i < equal.left; ++i) {
        ++parts[above[(turn * equal.left + i) % above.size()]];
    }
    WEIR_ASSERT(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) <= most);
    return parts;
}

}  // namespace weir::sync
