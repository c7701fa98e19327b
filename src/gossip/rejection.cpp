#include "gossip/rejection.h"

namespace weir::gossip {

std::string_view to_string(DatagramRejection reason) {
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

}  // namespace weir::gossip
