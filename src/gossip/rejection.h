#pragma once
// Why a datagram or a message of it was refused: the label values of
// weir_gossip_rejected_packets_total{reason}. docs/protocol.md explains each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::gossip {

enum class Rejection : std::uint8_t {
    too_short,          // shorter than a header
    too_long,           // above 1,232 bytes
    not_weir,           // no magic number
    version,            // a protocol version that is not spoken here
    unsealed,           // without a seal, though this cluster has a key
    sealed,             // sealed, though this sidecar runs without a key
    unknown_key,        // sealed with a key that is not in the ring
    forged,             // the seal does not hold: wrong key or altered bytes
    malformed,          // the seal holds, the content is not well-formed
    other_cluster,      // another cluster's name
    own_packet,         // our own incarnation as sender
    address_conflict,   // our own address, or a replaced member's, with another incarnation
    other_receiver,     // addressed to another incarnation
    unaddressed,        // without receiver, and not a lone ping
    unknown_sender,     // not a member (yet); it is asked to prove itself
    dead_sender,        // an incarnation that is dead, left or replaced
    duplicate,          // a sequence number seen before
    too_old,            // a sequence number left of the window
    stale,              // a total more than a second old
    clock,              // a sending time beyond reason
    unknown_answer,     // an answer to a ping that was not sent, or long ago
    ping_limit,         // more pings than are answered
    amplification,      // the answer would have been larger than the ping
    unknown_message,    // a message type of a later version, skipped
    bad_message,        // a message whose content does not decode
    member_table_full,  // more members than are kept
};
inline constexpr std::size_t kRejections =
    static_cast<std::size_t>(Rejection::member_table_full) + 1;

[[nodiscard]] std::string_view to_string(Rejection reason);

/// Counts by reason. Not thread-safe.
class RejectionCounts {
  public:
    void add(Rejection reason) { ++counts_[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t operator[](Rejection reason) const {
        return counts_[static_cast<std::size_t>(reason)];
    }
    [[nodiscard]] std::uint64_t total() const;

  private:
    std::array<std::uint64_t, kRejections> counts_{};
};

}  // namespace weir::gossip
