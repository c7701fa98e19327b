#include "sim/lists_of_names.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr std::string_view kListSeparator = " + ";

/// Takes the first name off the leaf.
std::string_view take_name(std::string_view& leaf) {
    const std::size_t end = std::min(leaf.find(kListSeparator), leaf.size());
    const std::string_view name = leaf.substr(0, end);
    leaf.remove_prefix(std::min(end + kListSeparator.size(), leaf.size()));
    return name;
}

}  // namespace

std::vector<std::string_view> names_of(std::string_view leaf) {
    std::vector<std::string_view> names;
    do {
        names.push_back(take_name(leaf));
    } while (!leaf.empty());
    return names;
}

limiter::Decision decide_on(limiter::Limiter& limiter, limiter::ThreadContext& thread,
                            std::string_view leaf, Instant now, limiter::CheckMode mode) {
    limiter::Leaves leaves;
    do {
        limiter.find(thread, limiter.ask(thread, take_name(leaf)), now, leaves);
    } while (!leaf.empty());
    return limiter.check(thread, leaves, limiter::Weights{}, now, mode);
}

bool offer_to(limiter::Limiter& limiter, limiter::ThreadContext& thread, std::string_view leaf,
              Instant now) {
    const bool admitted =
        decide_on(limiter, thread, leaf, now, limiter::CheckMode::charge).admitted;
    limiter.quiescent(thread);
    return admitted;
}

}  // namespace weir::sim
