#pragma once
// What a snapshot has of the level of one limit, and its bytes: docs/protocol.md describes each.
//
// Pure functions without state, thread-safe. Decoding trusts nothing: a malformed entry makes the
// reader fail. Whether well-formed values can be is asked separately.

#include <string>

#include "base/bytes.h"
#include "base/instant.h"
#include "limiter/laws.h"
#include "sync/messages.h"

namespace weir::sync {

/// A level that drains within this time is not kept: a process that restarts takes about as long,
/// and within this time a limit makes up by itself for what was reckoned wrongly.
inline constexpr Duration kForgetsWithin = std::chrono::seconds(10);

/// Whether levels of this limit are kept when they are high enough.
[[nodiscard]] inline bool is_long(const limiter::LimitParameters& limit) {
    return limiter::drains_slowly(limit, to_seconds(kForgetsWithin));
}

struct KeptLevel {
    LimitKey key = {};
    std::string name = {};                     // of the limit's quota; empty if nobody has told it
    limiter::LimitParameters parameters = {};  // of the limit; a rate of 0: not known
    double level = 0;                          // that was counted of the limit
    double sum = 0;                            // what was told while it was quiet (QuietSum::sum)
    double full = 0;                           // the same, as it drains at the limit's whole rate

    [[nodiscard]] double whole() const { return level + full; }
    /// Drains the level for so many seconds, and what was told.
    void drain(double seconds);
    friend bool operator==(const KeptLevel&, const KeptLevel&) = default;
};

/// What an owner is told of it.
[[nodiscard]] QuietOrder order_of(const KeptLevel& kept);

void encode(ByteWriter& writer, const KeptLevel& entry);
/// Reads one entry; reader.ok() tells whether it was well-formed.
[[nodiscard]] KeptLevel decode_kept_level(ByteReader& reader);
/// Whether a rate can have this level and these parameters, and the name is that of the key.
[[nodiscard]] bool plausible(const KeptLevel& entry);
inline constexpr std::size_t kMaximumKeptLevel = 128 + kMaximumNameSize;

}  // namespace weir::sync
