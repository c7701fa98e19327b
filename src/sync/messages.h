#pragma once
// The fields of the counter messages and their encoding: deltas (origin to owner), totals (owner to
// origin), hand-overs (owner to new owner), names (asked and told when a limit is first met) and
// hot limits (to any member). Each message body is a head and then entries up to its end, all of
// them records (base/records.h); the framing around it belongs to wire.h. docs/protocol.md
// describes each byte.
//
// Pure functions without state, thread-safe. Decoding trusts nothing: a malformed entry makes the
// reader fail. Whether well-formed values are plausible is asked separately, so that lying peers
// and broken packets are counted apart.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"

namespace weir::sync {

/// So many kinds of limits have room on the wire.
inline constexpr std::size_t kLimitKinds = 8;

/// The identity of a limit on the wire. The amount is not part of it: editing it keeps the count.
struct LimitKey {
    std::uint64_t quota = 0;  // quota_hash() of the instance's name
    std::uint8_t kind = 0;    // limiter::LimitKind
    std::uint8_t unit = 0;    // limiter::Unit
    std::uint64_t period_ms = 0;
    friend auto operator<=>(const LimitKey&, const LimitKey&) = default;
};

/// Whether only a later version knows limits of this kind. Of an entry about such a limit nothing
/// but the key is read.
[[nodiscard]] bool of_later_version(const LimitKey& key);

/// The hash by which a quota is known on the wire, a constant of the protocol version.
[[nodiscard]] std::uint64_t quota_hash(std::string_view name);
/// For tables keyed by limit.
[[nodiscard]] std::uint64_t hash(const LimitKey& key);

/// Rounds a count to a multiple of 1/256, the precision of the wire. An origin rounds before it
/// remembers what it has sent, so that both sides hold the same number, bit for bit.
[[nodiscard]] double quantise(double count);

/// No rate is of a longer period.
inline constexpr std::uint64_t kLongestPeriodMs =
    std::chrono::milliseconds(std::chrono::hours(24 * 366)).count();

/// Runs and lives are numbers from 1 to this one; 0 means none. Lives are random; runs count on
/// from a random number (run_number.h). They only have to differ from the ones before at the same
/// place, and each byte of them is in every delta and answer.
inline constexpr std::uint32_t kLargestIdentity = 0xff'ffff;

/// The answer to deltas that all say so may wait for so long for a datagram to the same member.
inline constexpr Duration kAnswerMayWait = std::chrono::milliseconds(160);
/// The same of the confirmations of quiet messages. Origins wait for as much longer before they
/// tell again what has not grown.
inline constexpr Duration kQuietAnswerMayWait = std::chrono::milliseconds(80);

/// The counts of an origin since its run began, and the rate that it expects from now on.
struct DeltaEntry {
    LimitKey key;
    std::uint32_t run = 0;
    Duration run_age{};
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    double rate = 0;            // offered, weight per second, without the newest request
    double believed_level = 0;  // for an owner that has just begun and needs a level; 0 for others
    Duration oldest_age{};      // how long ago the oldest weight in the increase was admitted
    Duration keep_alive{};
    double heaviest = 0;  // W, the heaviest admitted weight not drained yet
    double typical = 1;   // the running mean of admitted weights
    bool shedding = false;
    bool answer_may_wait = false;  // see kAnswerMayWait
    friend bool operator==(const DeltaEntry&, const DeltaEntry&) = default;
};

/// An owner's answer, or its publication to a user.
struct TotalEntry {
    LimitKey key;
    std::uint32_t life = 0;  // a random number, drawn again whenever the owner starts from nothing
    bool filled = false;     // false: the owner has just begun, and other owners are believed more
    bool shedding = false;
    /// Some origins fell silent together and are taken for cut off, so that the quota's
    /// `when_isolated` is in force.
    bool held = false;
    double level = 0;
    double rate = 0;  // the fleet's offered rate
    std::uint32_t origins = 0;
    double heaviest = 0;
    Duration keep_alive{};  // the owner's own
    std::uint8_t pace = 0;  // tenths by which keep-alive and error budget grow; 0: as usual
    /// The cell that the owner holds of the receiver, as the acknowledgement of its deltas. run 0:
    /// it holds none.
    std::uint32_t run = 0;
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    friend bool operator==(const TotalEntry&, const TotalEntry&) = default;
};

/// The counts that a delta carried. The answer repeats them only where the owner has others.
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

/// What an origin admitted under a quiet limit (quiet_share.h).
struct QuietEntry {
    LimitKey key;
    std::uint32_t run = 0;
    double admitted = 0;     // less refunded, since the run began; only grows
    double untold = 0;       // the origin's share that no owner has confirmed
    double untold_full = 0;  // the same, drained at the full rate
    double fresh = 0;        // of `untold`, what no former owner has confirmed either
    double rate = 0;         // offered here, weight per second, without the newest request
    /// The limit's own rate and `low`, for an owner that has not confirmed them yet, or may have
    /// forgotten them; 0 for others.
    double limit_rate = 0;
    double low = 0;
    /// The origin has no room for one more awake limit, or leaves: its owner counts the entry all
    /// the same.
    bool no_room = false;
    /// Where the owner has what this origin told in this run, as it said when it confirmed an
    /// entry; then the key does not travel. 0: nowhere yet.
    std::uint32_t place = 0;
    friend bool operator==(const QuietEntry&, const QuietEntry&) = default;
};

/// What an order about a quiet limit is for. The numbers are those of the wire; a receiver passes
/// over others, which belong to later versions.
enum class OrderKind : std::uint8_t {
    /// To an origin: the limit is to be told of as an awake one from now on. `run` is its run as
    /// far as it was told, or 0, and `admitted` what the owner has of it.
    wake = 0,
    /// To the other owners of a limit that wakes, or that some origin cannot wake: `level` was told
    /// of it while it was quiet.
    level = 1,
    /// To a new first owner: `sum` is what the former one was told and has not drained, and `level`
    /// what the limit would begin with.
    hand_over = 2,
    /// To an origin: the limit may fall quiet. `run` is that of its deltas.
    fall_quiet = 3,
    /// To an owner, from a member that has read a snapshot: `level` was counted of the limit, which
    /// has this rate and `low`, and `sum` and `full` were told of it while it was quiet (QuietSum),
    /// as far as they have not drained. An owner that knows more keeps what it knows.
    kept = 4
};

/// What an owner orders of a limit that is quiet or may be so. Each kind has its own fields; the
/// others are 0.
struct QuietOrder {
    LimitKey key;
    OrderKind kind = OrderKind::wake;
    std::uint32_t run = 0;
    double admitted = 0;
    double level = 0;
    double sum = 0;
    double full = 0;
    double limit_rate = 0;
    double low = 0;
    friend bool operator==(const QuietOrder&, const QuietOrder&) = default;
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
    Duration age{};  // since an owner saw this state
    bool shedding = false;
    friend bool operator==(const HotEntry&, const HotEntry&) = default;
};

/// The most bytes that an entry without a name can take.
inline constexpr std::size_t kMaximumEntrySize = 121;
inline constexpr std::size_t kMaximumNameSize = 512;

/// The key alone is no record. decode_question() reads it as the only field of one.
void encode(ByteWriter& writer, const LimitKey& key);
void encode_question(ByteWriter& writer, const LimitKey& key);
void encode(ByteWriter& writer, const DeltaEntry& entry);
void encode(ByteWriter& writer, const TotalEntry& entry);
void encode(ByteWriter& writer, const HandoverEntry& entry);
void encode(ByteWriter& writer, const QuietEntry& entry);
void encode(ByteWriter& writer, const QuietOrder& entry);
void encode(ByteWriter& writer, const NameEntry& entry);
void encode(ByteWriter& writer, const HotEntry& entry);

/// Answers are in the order of the deltas that they answer, and name no limit. An empty record
/// stands for a delta that gets no answer.
void encode_answer(ByteWriter& writer, const SaidCounts& said,
                   const std::optional<TotalEntry>& entry);
[[nodiscard]] std::optional<TotalEntry> decode_answer(ByteReader& reader, const SaidCounts& said);

/// The head of a message of deltas.
void write_delta_head(ByteWriter& writer, std::uint16_t tag);
[[nodiscard]] std::uint16_t read_delta_head(ByteReader& reader);

/// The head of a message of answers: the tag of the deltas that it answers, and which of them the
/// first entry answers.
struct AnswerHead {
    std::uint16_t tag = 0;
    std::uint64_t first = 0;
};
void write_answer_head(ByteWriter& writer, const AnswerHead& head);
[[nodiscard]] AnswerHead read_answer_head(ByteReader& reader);

/// What an entry of a quiet limit said, for as long as its answer may come.
struct QuietSaid {
    LimitKey key;
    std::uint32_t run = 0;
    std::uint32_t place = 0;
    double admitted = 0;
    double limit_rate = 0;  // both 0: they were not told
    double low = 0;
};
[[nodiscard]] inline QuietSaid said_in(const QuietEntry& entry) {
    return {entry.key, entry.run, entry.place, entry.admitted, entry.limit_rate, entry.low};
}

/// What an owner answers to a message of quiet entries: its tag, which of its entries were not
/// taken in, by their index, and the places (QuietEntry::place) of those that were and had keys.
struct QuietAnswer {
    std::uint16_t tag = 0;
    std::vector<std::uint64_t> left;
    std::vector<std::uint64_t> places;
};
void encode(ByteWriter& writer, const QuietAnswer& answer);
[[nodiscard]] QuietAnswer decode_quiet_answer(ByteReader& reader);

/// Each reads one entry; reader.ok() tells whether it was well-formed.
[[nodiscard]] LimitKey decode_key(ByteReader& reader);
[[nodiscard]] LimitKey decode_question(ByteReader& reader);
[[nodiscard]] DeltaEntry decode_delta(ByteReader& reader);
[[nodiscard]] TotalEntry decode_total(ByteReader& reader);
[[nodiscard]] HandoverEntry decode_handover(ByteReader& reader);
[[nodiscard]] QuietEntry decode_quiet(ByteReader& reader);
[[nodiscard]] QuietOrder decode_order(ByteReader& reader);
[[nodiscard]] NameEntry decode_name(ByteReader& reader);
[[nodiscard]] HotEntry decode_hot(ByteReader& reader);

/// Whether every number is finite, not negative and within the range of any limit.
[[nodiscard]] bool plausible(const DeltaEntry& entry);
[[nodiscard]] bool plausible(const TotalEntry& entry);
[[nodiscard]] bool plausible(const HandoverEntry& entry);
[[nodiscard]] bool plausible(const QuietEntry& entry);
[[nodiscard]] bool plausible(const QuietOrder& entry);
[[nodiscard]] bool plausible(const NameEntry& entry);
[[nodiscard]] bool plausible(const HotEntry& entry);

}  // namespace weir::sync
