#pragma once
// The fields of the counter messages and their encoding: deltas (origin to owner), totals (owner to
// origin), hand-overs (owner to new owner), names (asked and told when a limit is first met) and
// hot limits (to anybody). Each message body is a sequence of entries up to its end; the framing
// around it belongs to wire.h. docs/protocol.md describes each byte.
//
// Pure functions without state, thread-safe. Decoding never trusts: a malformed entry fails the
// reader, and whether well-formed values are plausible is a question of its own, so that a lying
// peer can be counted apart from a broken packet.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/instant.h"

namespace weir::sync {

/// The identity of a limit on the wire. The amount is not part of it: editing it keeps the count.
struct LimitKey {
    std::uint64_t quota = 0;  // quota_hash() of the instance's name
    std::uint8_t kind = 0;    // 0: rate
    std::uint8_t unit = 0;    // limiter::Unit
    std::uint64_t period_ms = 0;
    friend auto operator<=>(const LimitKey&, const LimitKey&) = default;
};

/// The hash by which a quota is known on the wire, a constant of the protocol version.
[[nodiscard]] std::uint64_t quota_hash(std::string_view name);
/// For tables keyed by limit.
[[nodiscard]] std::uint64_t hash(const LimitKey& key);

/// Cumulative counts travel in steps of 1/256 of a weight; an origin rounds before it remembers
/// what it has sent, so that both sides hold the same number to the bit.
[[nodiscard]] double quantise(double count);

/// What an origin has counted since its run of the cell began, and what it expects to come.
struct DeltaEntry {
    LimitKey key;
    std::uint32_t run = 0;
    Duration run_age{};
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    double rate = 0;            // offered, weight per second, without the newest request
    double believed_level = 0;  // fills a new owner; 0 to others
    Duration oldest_age{};      // how long ago the oldest weight in the increase was admitted
    Duration keep_alive{};
    double heaviest = 0;  // W, the heaviest admitted weight not drained yet
    double typical = 1;   // the running mean of admitted weights
    bool shedding = false;
    friend bool operator==(const DeltaEntry&, const DeltaEntry&) = default;
};

/// An owner's answer, or its publication to a user.
struct TotalEntry {
    LimitKey key;
    std::uint32_t life = 0;  // drawn anew whenever the owner starts from nothing
    bool filled = false;     // false: not to be believed over others
    bool shedding = false;
    /// Some origins are silent together and taken for cut off: what the quota says for isolation
    /// holds.
    bool held = false;
    double level = 0;
    double rate = 0;  // the fleet's offered rate
    std::uint32_t origins = 0;
    double heaviest = 0;
    Duration keep_alive{};  // the owner's own
    std::uint8_t pace = 0;  // 0: as usual; else tenths by which keep-alive and error budget grow
    /// The cell that the owner holds of the receiver: the acknowledgement. run 0: none.
    std::uint32_t run = 0;
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    friend bool operator==(const TotalEntry&, const TotalEntry&) = default;
};

/// What a delta said of its cell: an answer to it does not repeat this unless it differs.
struct SaidCounts {
    LimitKey key;
    std::uint32_t run = 0;
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    friend bool operator==(const SaidCounts&, const SaidCounts&) = default;
};
[[nodiscard]] inline SaidCounts said_in(const DeltaEntry& entry) {
    return {entry.key, entry.run, entry.admitted, entry.refunded, entry.offered};
}

/// What an owner hands to a new owner of the shard.
struct HandoverEntry {
    LimitKey key;
    double level = 0;
    double rate = 0;       // of origins that are heard
    double held_rate = 0;  // of origins that are silent and whose share is kept
    Duration hold_left{};
    double heaviest = 0;
    double typical = 1;
    bool shedding = false;
    friend bool operator==(const HandoverEntry&, const HandoverEntry&) = default;
};

/// The name behind a key, and the limit's parameters for an owner whose definitions lack it.
struct NameEntry {
    LimitKey key;
    std::string name;
    double rate = 0;
    double low = 0;
    double high = 0;
    double debt = 0;
    std::uint8_t law = 0;  // limiter::Law
    friend bool operator==(const NameEntry&, const NameEntry&) = default;
};

/// One of the fleet's hottest shedding limits.
struct HotEntry {
    LimitKey key;
    double level = 0;
    double rate = 0;
    Duration age{};  // since an owner knew it so
    bool shedding = false;
    friend bool operator==(const HotEntry&, const HotEntry&) = default;
};

/// The most bytes that an entry without a name can take.
inline constexpr std::size_t kMaximumEntrySize = 120;
inline constexpr std::size_t kMaximumNameSize = 512;

void encode(ByteWriter& writer, const LimitKey& key);
void encode(ByteWriter& writer, const DeltaEntry& entry);
void encode(ByteWriter& writer, const TotalEntry& entry);
void encode(ByteWriter& writer, const HandoverEntry& entry);
void encode(ByteWriter& writer, const NameEntry& entry);
void encode(ByteWriter& writer, const HotEntry& entry);

/// Answers are in the order of the deltas that they answer and name no limit. Nothing: none to this
/// delta.
void encode_answer(ByteWriter& writer, const SaidCounts& said,
                   const std::optional<TotalEntry>& entry);
[[nodiscard]] std::optional<TotalEntry> decode_answer(ByteReader& reader, const SaidCounts& said);

/// Each reads one entry; reader.ok() tells whether it was well-formed.
[[nodiscard]] LimitKey decode_key(ByteReader& reader);
[[nodiscard]] DeltaEntry decode_delta(ByteReader& reader);
[[nodiscard]] TotalEntry decode_total(ByteReader& reader);
[[nodiscard]] HandoverEntry decode_handover(ByteReader& reader);
[[nodiscard]] NameEntry decode_name(ByteReader& reader);
[[nodiscard]] HotEntry decode_hot(ByteReader& reader);

/// Whether every number is finite, not negative and within what a limit can mean.
[[nodiscard]] bool plausible(const DeltaEntry& entry);
[[nodiscard]] bool plausible(const TotalEntry& entry);
[[nodiscard]] bool plausible(const HandoverEntry& entry);
[[nodiscard]] bool plausible(const NameEntry& entry);
[[nodiscard]] bool plausible(const HotEntry& entry);

}  // namespace weir::sync
