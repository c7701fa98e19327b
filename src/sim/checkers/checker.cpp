#include "sim/checkers/checker.h"

#include <cstdio>

namespace weir::sim {

void Findings::add(std::string_view checker, double at, const std::string& text) {
    ++count_;
    if (++counts_[std::string(checker)] > kKeptOfEach) {
        return;
    }
    char when[32];
    std::snprintf(when, sizeof when, " at %.2f s: ", at);
    texts_.push_back(std::string(checker) + when + text);
}

}  // namespace weir::sim
