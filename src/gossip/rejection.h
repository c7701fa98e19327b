#pragma once
// Why a datagram, or a message in it, was refused: the values of the label `reason` of the metric
// weir_gossip_rejected_packets_total. docs/protocol.md explains each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::gossip {

enum class DatagramRejection : std::uint8_t {
    too_short,          // it is shorter than the clear header, or than a seal
    too_long,           // it is longer than 1,232 bytes
    not_weir,           // it does not begin with the magic number
    version,            // it has a version of the protocol, or a mode, that is not spoken here
    unsealed,           // it has no seal, though this sidecar has a key
    sealed,             // it is sealed, though this sidecar runs without a key
    unknown_key,        // it is sealed with a key that is not in the ring
    forged,             // its seal does not hold: the key is another one, or bytes were altered
    malformed,          // its seal holds, but envelope or messages are cut off or badly framed
    other_cluster,      // it names another cluster
    own_packet,         // it names this process's own incarnation as its sender
    address_conflict,   // two processes use one address: that of this process or of a member
    other_receiver,     // it is addressed to another incarnation
    unaddressed,        // it names no receiver, and is not a lone ping
    unknown_sender,     // its sender is no member (yet) and is asked to prove itself
    dead_sender,        // its sender is an incarnation that is dead, left or replaced
    duplicate,          // its sequence number was seen before
    too_old,            // its sequence number is below the window of those that are remembered
    stale,              // an owner's total that was more than a second old when it came
    clock,              // its sending time is beyond reason
    unknown_answer,     // an answer to a ping that was never sent or is forgotten already
    ping_limit,         // a ping above the number of those that are answered in a second
    amplification,      // a ping so short that the answer would have been larger
    unknown_message,    // a message type of a later version; it is skipped
    bad_message,        // a message of a known type whose content does not decode
    member_table_full,  // there are more members than are kept
};
inline constexpr std::size_t kRejections =
    static_cast<std::size_t>(DatagramRejection::member_table_full) + 1;

/// The enumerator's name.
[[nodiscard]] std::string_view to_string(DatagramRejection reason);

/// Counts by reason. Not thread-safe.
class RejectionCounts {
  public:
    void add(DatagramRejection reason) { ++counts_[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t operator[](DatagramRejection reason) const {
        return counts_[static_cast<std::size_t>(reason)];
    }

  private:
    std::array<std::uint64_t, kRejections> counts_{};
};

}  // namespace weir::gossip
