#include "gossip/rejection.h"

#include <numeric>

namespace weir::gossip {

std::string_view to_string(Rejection reason) {
    constexpr std::array<std::string_view, kRejections> names{
        "too_short",      "too_long",         "not_weir",       "version",
        "unsealed",       "sealed",           "unknown_key",    "forged",
        "malformed",      "other_cluster",    "own_packet",     "address_conflict",
        "other_receiver", "unaddressed",      "unknown_sender", "dead_sender",
        "duplicate",      "too_old",          "stale",          "clock",
        "unknown_answer", "ping_limit",       "amplification",  "unknown_message",
        "bad_message",    "member_table_full"};
    return names[static_cast<std::size_t>(reason)];
}

std::uint64_t RejectionCounts::total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

}  // namespace weir::gossip
