#include "gossip/counter_messages.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/hash.h"

namespace weir::gossip {
namespace {

constexpr double kCountSteps = 256;
/// Beyond it a count no longer keeps single steps in a double, and no bucket is that big.
constexpr double kLargestCount = 35'184'372'088'832.0 * 1024;  // 2^55
constexpr double kLargestRate = 1e15;
constexpr Duration kLongestAge = std::chrono::hours(24 * 40);

// Fields that usually have their default value are announced by a bit and left out otherwise.
constexpr std::uint8_t kHasRefunded = 1;
constexpr std::uint8_t kHasHeaviest = 2;
constexpr std::uint8_t kHasTypical = 4;
constexpr std::uint8_t kShedding = 8;
constexpr std::uint8_t kFilled = 16;
constexpr std::uint8_t kHasCell = 32;
constexpr std::uint8_t kHasPace = 64;
constexpr std::uint8_t kHasHold = 128;

void write_count(ByteWriter& writer, double count) {
    const double steps = std::clamp(count, 0.0, kLargestCount) * kCountSteps;
    writer.varint(static_cast<std::uint64_t>(std::llround(steps)));
}

double read_count(ByteReader& reader) { return static_cast<double>(reader.varint()) / kCountSteps; }

void write_duration(ByteWriter& writer, Duration duration) {
    const auto clamped = std::clamp(duration, Duration::zero(), kLongestAge);
    writer.varint(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(clamped).count()));
}

Duration read_duration(ByteReader& reader) {
    constexpr auto longest = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kLongestAge).count());
    return std::chrono::milliseconds(std::min(reader.varint(), longest));
}

void write_real(ByteWriter& writer, double value) { writer.f32(static_cast<float>(value)); }
double read_real(ByteReader& reader) { return static_cast<double>(reader.f32()); }

std::uint8_t flag(bool set, std::uint8_t bit) { return set ? bit : std::uint8_t{0}; }

bool within(std::initializer_list<double> values, double largest) {
    return std::all_of(values.begin(), values.end(), [largest](double value) {
        return std::isfinite(value) && value >= 0 && value <= largest;
    });
}

}  // namespace

std::uint64_t quota_hash(std::string_view name) {
    // The key is public: it only has to be the same everywhere. Tables add their own mixing.
    HashKey key;
    constexpr std::string_view text = "weir-quota-hash1";
    for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = std::byte(text[i]);
    return keyed_hash(name, key);
}

std::uint64_t hash(const LimitKey& key) {
    const std::uint64_t low =
        (std::uint64_t{key.kind} << 56) ^ (std::uint64_t{key.unit} << 48) ^ key.period_ms;
    return mix(key.quota ^ mix(low));
}

double quantise(double count) {
    return std::nearbyint(std::clamp(count, 0.0, kLargestCount) * kCountSteps) / kCountSteps;
}

void encode(ByteWriter& writer, const LimitKey& key) {
    writer.u64(key.quota);
    writer.u8(static_cast<std::uint8_t>((key.kind << 4) | (key.unit & 0x0f)));
    writer.varint(key.period_ms);
}

LimitKey decode_key(ByteReader& reader) {
    LimitKey key;
    key.quota = reader.u64();
    const std::uint8_t both = reader.u8();
    key.kind = static_cast<std::uint8_t>(both >> 4);
    key.unit = static_cast<std::uint8_t>(both & 0x0f);
    key.period_ms = reader.varint();
    return key;
}

void encode(ByteWriter& writer, const DeltaEntry& entry) {
    encode(writer, entry.key);
    const bool typical = entry.typical != 1;
    writer.u8(static_cast<std::uint8_t>(
        flag(entry.refunded > 0, kHasRefunded) | flag(entry.heaviest > 0, kHasHeaviest) |
        flag(typical, kHasTypical) | flag(entry.shedding, kShedding)));
    writer.u32(entry.run);
    write_duration(writer, entry.run_age);
    write_count(writer, entry.admitted);
    if (entry.refunded > 0) write_count(writer, entry.refunded);
    write_count(writer, entry.offered);
    write_real(writer, entry.rate);
    write_real(writer, entry.believed_level);
    write_duration(writer, entry.oldest_age);
    write_duration(writer, entry.keep_alive);
    if (entry.heaviest > 0) write_real(writer, entry.heaviest);
    if (typical) write_real(writer, entry.typical);
}

DeltaEntry decode_delta(ByteReader& reader) {
    DeltaEntry entry;
    entry.key = decode_key(reader);
    const std::uint8_t flags = reader.u8();
    entry.shedding = (flags & kShedding) != 0;
    entry.run = reader.u32();
    entry.run_age = read_duration(reader);
    entry.admitted = read_count(reader);
    if ((flags & kHasRefunded) != 0) entry.refunded = read_count(reader);
    entry.offered = read_count(reader);
    entry.rate = read_real(reader);
    entry.believed_level = read_real(reader);
    entry.oldest_age = read_duration(reader);
    entry.keep_alive = read_duration(reader);
    if ((flags & kHasHeaviest) != 0) entry.heaviest = read_real(reader);
    if ((flags & kHasTypical) != 0) entry.typical = read_real(reader);
    return entry;
}

bool plausible(const DeltaEntry& entry) {
    return entry.run != 0 &&
           within({entry.admitted, entry.refunded, entry.offered}, kLargestCount) &&
           within({entry.rate, entry.believed_level, entry.heaviest, entry.typical}, kLargestRate);
}

void encode(ByteWriter& writer, const TotalEntry& entry) {
    encode(writer, entry.key);
    const bool cell = entry.run != 0;
    writer.u8(static_cast<std::uint8_t>(
        flag(entry.refunded > 0, kHasRefunded) | flag(entry.heaviest > 0, kHasHeaviest) |
        flag(entry.shedding, kShedding) | flag(entry.filled, kFilled) | flag(cell, kHasCell) |
        flag(entry.pace != 0, kHasPace)));
    writer.u32(entry.life);
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    writer.varint(entry.origins);
    write_duration(writer, entry.keep_alive);
    if (entry.heaviest > 0) write_real(writer, entry.heaviest);
    if (entry.pace != 0) writer.u8(entry.pace);
    if (!cell) return;
    writer.u32(entry.run);
    write_count(writer, entry.admitted);
    if (entry.refunded > 0) write_count(writer, entry.refunded);
    write_count(writer, entry.offered);
}

TotalEntry decode_total(ByteReader& reader) {
    TotalEntry entry;
    entry.key = decode_key(reader);
    const std::uint8_t flags = reader.u8();
    entry.shedding = (flags & kShedding) != 0;
    entry.filled = (flags & kFilled) != 0;
    entry.life = reader.u32();
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    entry.origins = static_cast<std::uint32_t>(std::min<std::uint64_t>(reader.varint(), 1u << 20));
    entry.keep_alive = read_duration(reader);
    if ((flags & kHasHeaviest) != 0) entry.heaviest = read_real(reader);
    if ((flags & kHasPace) != 0) entry.pace = reader.u8();
    if ((flags & kHasCell) == 0) return entry;
    entry.run = reader.u32();
    entry.admitted = read_count(reader);
    if ((flags & kHasRefunded) != 0) entry.refunded = read_count(reader);
    entry.offered = read_count(reader);
    return entry;
}

bool plausible(const TotalEntry& entry) {
    return entry.life != 0 &&
           within({entry.admitted, entry.refunded, entry.offered}, kLargestCount) &&
           within({entry.level, entry.rate, entry.heaviest}, kLargestRate);
}

void encode(ByteWriter& writer, const HandoverEntry& entry) {
    encode(writer, entry.key);
    const bool typical = entry.typical != 1;
    const bool hold = entry.held_rate > 0;
    writer.u8(static_cast<std::uint8_t>(flag(entry.heaviest > 0, kHasHeaviest) |
                                        flag(typical, kHasTypical) |
                                        flag(entry.shedding, kShedding) | flag(hold, kHasHold)));
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    if (hold) {
        write_real(writer, entry.held_rate);
        write_duration(writer, entry.hold_left);
    }
    if (entry.heaviest > 0) write_real(writer, entry.heaviest);
    if (typical) write_real(writer, entry.typical);
}

HandoverEntry decode_handover(ByteReader& reader) {
    HandoverEntry entry;
    entry.key = decode_key(reader);
    const std::uint8_t flags = reader.u8();
    entry.shedding = (flags & kShedding) != 0;
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    if ((flags & kHasHold) != 0) {
        entry.held_rate = read_real(reader);
        entry.hold_left = read_duration(reader);
    }
    if ((flags & kHasHeaviest) != 0) entry.heaviest = read_real(reader);
    if ((flags & kHasTypical) != 0) entry.typical = read_real(reader);
    return entry;
}

bool plausible(const HandoverEntry& entry) {
    return within({entry.level, entry.rate, entry.held_rate, entry.heaviest, entry.typical},
                  kLargestRate);
}

void encode(ByteWriter& writer, const NameEntry& entry) {
    encode(writer, entry.key);
    writer.string(std::string_view(entry.name).substr(0, kMaximumNameSize));
    writer.f64(entry.rate);
    writer.f64(entry.low);
    writer.f64(entry.high);
    writer.f64(entry.debt);
    writer.u8(entry.law);
}

NameEntry decode_name(ByteReader& reader) {
    NameEntry entry;
    entry.key = decode_key(reader);
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
    encode(writer, entry.key);
    writer.u8(flag(entry.shedding, kShedding));
    write_real(writer, entry.level);
    write_real(writer, entry.rate);
    write_duration(writer, entry.age);
}

HotEntry decode_hot(ByteReader& reader) {
    HotEntry entry;
    entry.key = decode_key(reader);
    entry.shedding = (reader.u8() & kShedding) != 0;
    entry.level = read_real(reader);
    entry.rate = read_real(reader);
    entry.age = read_duration(reader);
    return entry;
}

bool plausible(const HotEntry& entry) { return within({entry.level, entry.rate}, kLargestRate); }

}  // namespace weir::gossip
