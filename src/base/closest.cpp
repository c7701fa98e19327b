#include "base/closest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/assert.h"

namespace weir {
namespace {

constexpr std::size_t kLongest = 512;
constexpr std::size_t kMostDifferences = 3;
constexpr std::size_t kLeastBeginning = 3;

using TableRow = std::array<std::uint16_t, kLongest + 2>;

/// The number of differences of two texts; `most` + 1 if there are more than `most`. Of the table
/// of all beginnings of both texts (Wagner and Fischer 1974) only the cells within `most` of the
/// diagonal are computed, because all others hold larger numbers.
std::size_t differences(std::string_view left, std::string_view right, std::size_t most) {
    WEIR_ASSERT(left.size() <= kLongest && right.size() <= kLongest);
    const auto far = static_cast<std::uint16_t>(most + 1);
    TableRow rows[3];  // the last one, the one before it, and the present one
    TableRow* before = &rows[0];
    TableRow* above = &rows[1];
    TableRow* row = &rows[2];
    for (std::size_t j = 0; j <= std::min(right.size(), most + 1); ++j) {
        (*above)[j] = static_cast<std::uint16_t>(j);
    }
    for (std::size_t i = 1; i <= left.size(); ++i) {
        const std::size_t first = i > most ? i - most : 1;
        const std::size_t last = std::min(right.size(), i + most);
        std::uint16_t nearest = far;
        (*row)[first - 1] = first == 1 ? static_cast<std::uint16_t>(std::min(i, most + 1)) : far;
        for (std::size_t j = first; j <= last; ++j) {
            const int change = left[i - 1] == right[j - 1] ? 0 : 1;
            int found = std::min({(*above)[j - 1] + change, (*row)[j - 1] + 1, (*above)[j] + 1});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                found = std::min(found, (*before)[j - 2] + 1);
            }
            (*row)[j] = static_cast<std::uint16_t>(std::min<int>(found, far));
            nearest = std::min(nearest, (*row)[j]);
        }
        (*row)[last + 1] = far;  // the next row's last cell looks at it
        if (nearest == far && first > 1) {
            return far;
        }
        TableRow* const oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return (*above)[right.size()];
}

/// The only candidate that begins with `text`; empty if there are several or none.
std::string_view only_longer_one(std::string_view text,
                                 std::span<const std::string_view> candidates) {
    std::string_view only;
    for (const std::string_view candidate : candidates) {
        if (text.size() < kLeastBeginning || candidate.size() > kLongest ||
            !candidate.starts_with(text)) {
            continue;
        }
        if (!only.empty() && candidate != only) {
            return {};
        }
        only = candidate;
    }
    return only;
}

}  // namespace

std::string_view closest(std::string_view text, std::span<const std::string_view> candidates,
                         std::size_t& letters_left) {
    std::string_view best;
    if (text.size() < 2 || text.size() > kLongest) {
        return best;
    }
    std::size_t most = std::clamp<std::size_t>(text.size() / 3, 1, kMostDifferences);
    for (const std::string_view candidate : candidates) {
        const auto [shorter, longer] = std::minmax({text.size(), candidate.size()});
        if (longer - shorter > most || longer > kLongest) {
            continue;
        }
        if (longer > letters_left) {
            break;
        }
        letters_left -= longer;
        const std::size_t found = differences(text, candidate, most);
        if (found > most) {
            continue;
        }
        best = candidate;
        if (found == 0) {
            break;
        }
        most = found - 1;  // another one must be nearer
    }
    return best.empty() && letters_left > 0 ? only_longer_one(text, candidates) : best;
}

std::string_view closest(std::string_view text, std::span<const std::string_view> candidates) {
    std::size_t letters_left = std::numeric_limits<std::size_t>::max();
    return closest(text, candidates, letters_left);
}

}  // namespace weir
