#include "sync/messages.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/hash.h"
#include "base/next_version.h"
#include "base/records.h"
#include "limiter/definition.h"
#include "sync/number_forms.h"

namespace weir::sync {
namespace {

/// Whether a run is older than this nobody asks.
constexpr Duration kOldRun = std::chrono::seconds(64);
/// Keep-alives and ages of weight travel in hundredths of a second: two digits of a varint.
constexpr Duration kAgeUnit = std::chrono::milliseconds(10);
constexpr std::uint8_t kSecondPeriod = 0x80;  // in the byte of kind and unit
constexpr std::uint8_t kKindBits = 0x07;

// Fields that usually have their default value are announced by a bit and left out otherwise.
constexpr std::uint8_t kHasRefunded = 1;
constexpr std::uint8_t kHasHeaviest = 2;
constexpr std::uint8_t kHasTypical = 4;
constexpr std::uint8_t kShedding = 8;
constexpr std::uint8_t kFilled = 16;
constexpr std::uint8_t kHasCell = 32;
constexpr std::uint8_t kHasPace = 64;
constexpr std::uint8_t kHasHold = 128;
// In deltas.
constexpr std::uint8_t kHasRunAge = 16;
constexpr std::uint8_t kHasLevel = 32;
constexpr std::uint8_t kMayWait = 64;
// In answers.
constexpr std::uint8_t kAsSaid = 4;

}  // namespace

std::uint64_t quota_hash(std::string_view name) {
    // The key is public: it only has to be the same everywhere. Tables add their own mixing.
    HashKey key;
    constexpr std::string_view text = "weir-quota-hash1";
    for (std::size_t i = 0; i < key.bytes.size(); ++i) {
        key.bytes[i] = std::byte(text[i]);
    }
    return keyed_hash(name, key);
}

std::uint64_t hash(const LimitKey& key) {
    const std::uint64_t low =
        (std::uint64_t{key.kind} << 56) ^ (std::uint64_t{key.unit} << 48) ^ key.period_ms;
    return mix(key.quota ^ mix(low));
}

double quantise(double count) {
    WEIR_ASSERT(!std::isnan(count));
    return std::nearbyint(std::clamp(count, 0.0, kLargestCount) * kCountSteps) / kCountSteps;
}

void encode(ByteWriter& writer, const LimitKey& key) {
    writer.u64(key.quota);
    constexpr std::uint64_t second_ms = 1000;
    const bool second = key.period_ms == second_ms;
    const bool trial = is_trial(std::chrono::milliseconds(key.period_ms));
    WEIR_ASSERT(key.kind <= kKindBits && key.unit <= 0x0f);
    const std::uint8_t kind = trial ? kTrialKind : key.kind;
    writer.u8(static_cast<std::uint8_t>((second ? kSecondPeriod : 0) | ((kind & kKindBits) << 4) |
                                        (key.unit & 0x0f)));
    if (!second) {
        writer.varint(key.period_ms);
    }
}

LimitKey decode_key(ByteReader& reader) {
    LimitKey key;
    key.quota = reader.u64();
    const std::uint8_t both = reader.u8();
    key.kind = static_cast<std::uint8_t>((both >> 4) & kKindBits);
    key.unit = static_cast<std::uint8_t>(both & 0x0f);
    key.period_ms = (both & kSecondPeriod) != 0 ? 1000 : reader.varint();
    if (key.kind == kTrialKind && is_next_version()) {
        key.kind = static_cast<std::uint8_t>(limiter::LimitKind::rate);
    }
    return key;
}

bool of_later_version(const LimitKey& key) {
    return key.kind != static_cast<std::uint8_t>(limiter::LimitKind::rate);
}

void encode_question(ByteWriter& writer, const LimitKey& key) {
    const RecordWriter record(writer);
    encode(writer, key);
}

LimitKey decode_question(ByteReader& outer) {
    RecordReader record(outer);
    return decode_key(record.fields());
}

void encode(ByteWriter& writer, const DeltaEntry& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    const bool typical = entry.typical != 1;
    const bool young = entry.run_age < kOldRun;
    const bool level = entry.believed_level > 0;
    writer.u8(static_cast<std::uint8_t>(
        flag(entry.refunded > 0, kHasRefunded) | flag(entry.heaviest > 0, kHasHeaviest) |
        flag(typical, kHasTypical) | flag(entry.shedding, kShedding) | flag(young, kHasRunAge) |
        flag(level, kHasLevel) | flag(entry.answer_may_wait, kMayWait)));
    write_identity(writer, entry.run);
    if (young) {
        write_duration(writer, entry.run_age);
    }
    write_count(writer, entry.admitted);
    if (entry.refunded > 0) {
        write_count(writer, entry.refunded);
    }
    write_count(writer, entry.offered);
    write_real(writer, entry.rate);
    if (level) {
        write_real(writer, entry.believed_level);
    }
    write_duration(writer, entry.oldest_age, kAgeUnit);
    write_duration(writer, entry.keep_alive, kAgeUnit);
    if (entry.heaviest > 0) {
        write_real(writer, entry.heaviest);
    }
    if (typical) {
        write_real(writer, entry.typical);
    }
}

DeltaEntry decode_delta(ByteReader& outer) {
    DeltaEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    const std::uint8_t flags = reader.u8();
    entry.shedding = (flags & kShedding) != 0;
    entry.answer_may_wait = (flags & kMayWait) != 0;
    entry.run = read_identity(reader);
    entry.run_age = (flags & kHasRunAge) != 0 ? read_duration(reader) : kLongestAge;
    entry.admitted = read_count(reader);
    if ((flags & kHasRefunded) != 0) {
        entry.refunded = read_count(reader);
    }
    entry.offered = read_count(reader);
    entry.rate = read_real(reader);
    if ((flags & kHasLevel) != 0) {
        entry.believed_level = read_real(reader);
    }
    entry.oldest_age = read_duration(reader, kAgeUnit);
    entry.keep_alive = read_duration(reader, kAgeUnit);
    if ((flags & kHasHeaviest) != 0) {
        entry.heaviest = read_real(reader);
    }
    if ((flags & kHasTypical) != 0) {
        entry.typical = read_real(reader);
    }
    return entry;
}

bool plausible(const DeltaEntry& entry) {
    return entry.run != 0 &&
           within({entry.admitted, entry.refunded, entry.offered}, kLargestCount) &&
           within({entry.rate, entry.believed_level, entry.heaviest, entry.typical}, kLargestRate);
}

namespace {

/// What follows the limit in a total, and is all of an answer.
void encode_state(ByteWriter& writer, const TotalEntry& entry, bool as_said) {
    const bool cell = entry.run != 0 && !as_said;
    writer.u8(static_cast<std::uint8_t>(
        flag(cell && entry.refunded > 0, kHasRefunded) | flag(entry.heaviest > 0, kHasHeaviest) |
        flag(as_said, kAsSaid) | flag(entry.shedding, kShedding) | flag(entry.filled, kFilled) |
        flag(cell, kHasCell) | flag(entry.pace != 0, kHasPace) | flag(entry.held, kHasHold)));
    write_identity(writer, entry.life);
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    writer.varint(entry.origins);
    write_duration(writer, entry.keep_alive, kAgeUnit);
    if (entry.heaviest > 0) {
        write_real(writer, entry.heaviest);
    }
    if (entry.pace != 0) {
        writer.u8(entry.pace);
    }
    if (!cell) {
        return;
    }
    write_identity(writer, entry.run);
    write_count(writer, entry.admitted);
    if (entry.refunded > 0) {
        write_count(writer, entry.refunded);
    }
    write_count(writer, entry.offered);
}

/// After the flags.
void decode_state(ByteReader& reader, std::uint8_t flags, TotalEntry& entry) {
    entry.shedding = (flags & kShedding) != 0;
    entry.filled = (flags & kFilled) != 0;
    entry.held = (flags & kHasHold) != 0;
    entry.life = read_identity(reader);
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    entry.origins = static_cast<std::uint32_t>(std::min<std::uint64_t>(reader.varint(), 1u << 20));
    entry.keep_alive = read_duration(reader, kAgeUnit);
    if ((flags & kHasHeaviest) != 0) {
        entry.heaviest = read_real(reader);
    }
    if ((flags & kHasPace) != 0) {
        entry.pace = reader.u8();
    }
    if ((flags & kHasCell) == 0) {
        return;
    }
    entry.run = read_identity(reader);
    entry.admitted = read_count(reader);
    if ((flags & kHasRefunded) != 0) {
        entry.refunded = read_count(reader);
    }
    entry.offered = read_count(reader);
}

}  // namespace

void encode(ByteWriter& writer, const TotalEntry& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    encode_state(writer, entry, false);
}

TotalEntry decode_total(ByteReader& outer) {
    TotalEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    decode_state(reader, reader.u8(), entry);
    return entry;
}

void encode_answer(ByteWriter& writer, const SaidCounts& said,
                   const std::optional<TotalEntry>& entry) {
    const RecordWriter record(writer);
    if (!entry) {
        return;
    }
    const bool as_said = SaidCounts{entry->key, entry->run, entry->admitted, entry->refunded,
                                    entry->offered} == said;
    encode_state(writer, *entry, as_said);
}

std::optional<TotalEntry> decode_answer(ByteReader& outer, const SaidCounts& said) {
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    if (!reader.ok() || reader.remaining() == 0) {
        return std::nullopt;
    }
    const std::uint8_t flags = reader.u8();
    TotalEntry entry;
    entry.key = said.key;
    decode_state(reader, flags, entry);
    if ((flags & kAsSaid) != 0) {
        entry.run = said.run;
        entry.admitted = said.admitted;
        entry.refunded = said.refunded;
        entry.offered = said.offered;
    }
    return entry;
}

void write_delta_head(ByteWriter& writer, std::uint16_t tag) {
    const RecordWriter record(writer);
    writer.u16(tag);
}

std::uint16_t read_delta_head(ByteReader& reader) { return RecordReader(reader).fields().u16(); }

void write_answer_head(ByteWriter& writer, const AnswerHead& head) {
    const RecordWriter record(writer);
    writer.u16(head.tag);
    writer.varint(head.first);
}

AnswerHead read_answer_head(ByteReader& reader) {
    RecordReader record(reader);
    AnswerHead head;
    head.tag = record.fields().u16();
    head.first = record.fields().varint();
    return head;
}

bool plausible(const TotalEntry& entry) {
    return entry.life != 0 &&
           within({entry.admitted, entry.refunded, entry.offered}, kLargestCount) &&
           within({std::abs(entry.level), entry.rate, entry.heaviest}, kLargestRate);
}

void encode(ByteWriter& writer, const HandoverEntry& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    const bool typical = entry.typical != 1;
    const bool hold = entry.held_rate > 0 || entry.hold_left > Duration::zero();
    writer.u8(static_cast<std::uint8_t>(flag(entry.heaviest > 0, kHasHeaviest) |
                                        flag(typical, kHasTypical) |
                                        flag(entry.shedding, kShedding) | flag(hold, kHasHold)));
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    if (hold) {
        write_real(writer, entry.held_rate);
        write_duration(writer, entry.hold_left);
    }
    if (entry.heaviest > 0) {
        write_real(writer, entry.heaviest);
    }
    if (typical) {
        write_real(writer, entry.typical);
    }
}

HandoverEntry decode_handover(ByteReader& outer) {
    HandoverEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    const std::uint8_t flags = reader.u8();
    entry.shedding = (flags & kShedding) != 0;
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    if ((flags & kHasHold) != 0) {
        entry.held_rate = read_real(reader);
        entry.hold_left = read_duration(reader);
    }
    if ((flags & kHasHeaviest) != 0) {
        entry.heaviest = read_real(reader);
    }
    if ((flags & kHasTypical) != 0) {
        entry.typical = read_real(reader);
    }
    return entry;
}

bool plausible(const HandoverEntry& entry) {
    return within({entry.level, entry.rate, entry.held_rate, entry.heaviest, entry.typical},
                  kLargestRate);
}

void encode(ByteWriter& writer, const NameEntry& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    writer.string(std::string_view(entry.name).substr(0, kMaximumNameSize));
    writer.f64(entry.rate);
    writer.f64(entry.low);
    writer.f64(entry.high);
    writer.f64(entry.debt);
    writer.u8(entry.law);
}

NameEntry decode_name(ByteReader& outer) {
    NameEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    entry.name = std::string(reader.string(kMaximumNameSize));
    entry.rate = reader.f64();
    entry.low = reader.f64();
    entry.high = reader.f64();
    entry.debt = reader.f64();
    entry.law = reader.u8();
    return entry;
}

bool plausible(const NameEntry& entry) {
    return !entry.name.empty() && quota_hash(entry.name) == entry.key.quota &&
           entry.high >= entry.low && entry.law <= 1 &&
           within({entry.rate, entry.low, entry.high, entry.debt}, kLargestRate);
}

void encode(ByteWriter& writer, const HotEntry& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    writer.u8(flag(entry.shedding, kShedding));
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    write_duration(writer, entry.age);
}

HotEntry decode_hot(ByteReader& outer) {
    HotEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    entry.shedding = (reader.u8() & kShedding) != 0;
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    entry.age = read_duration(reader);
    return entry;
}

bool plausible(const HotEntry& entry) { return within({entry.level, entry.rate}, kLargestRate); }

}  // namespace weir::sync
