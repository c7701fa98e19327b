#include "routing/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weir::routing {
namespace {

/// Levenshtein's distance, computed with one row of the table at a time.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row.back();
}

}  // namespace

std::string suggest(std::string_view wrong, std::span<const std::string> candidates) {
    std::size_t nearest = wrong.size() / 3 + 2;
    std::string best;
    for (const auto& candidate : candidates) {
        const auto distance = edits(wrong, candidate);
        if (distance < nearest) {
            nearest = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace weir::routing
