#include "tools/lying_peer.h"

#include <bit>
#include <limits>

#include "base/records.h"
namespace weir::tools {
namespace {

using gossip::MessageType;

constexpr double kHuge = 1e12;
/// That a limit of some hundred a second can have.
constexpr double kPossibleLevel = 300;
constexpr std::uint16_t kRun = 4711;
constexpr std::size_t kInventedAtOnce = 50;
constexpr Duration kForEver = std::chrono::hours(24 * 40);

membership::TransportSettings settings_of(const std::string& cluster, const Endpoint& self) {
    membership::TransportSettings settings;
    settings.cluster_name = cluster;
    settings.self = self;
    return settings;
}

/// A delta as the encoder would never write it: counts and rate as they are.
void write_raw_delta(ByteWriter& writer, const sync::LimitKey& key, std::uint64_t count,
                     float rate) {
    const RecordWriter record(writer);
    encode(writer, key);
    writer.u8(0);
    writer.u8(0);
    writer.u16(kRun);
    writer.varint(count);  // admitted
    writer.varint(count);  // offered
    const auto bits = std::bit_cast<std::uint32_t>(rate);
    writer.u8(static_cast<std::uint8_t>(bits >> 24));
    writer.u16(static_cast<std::uint16_t>(bits >> 8));
    writer.varint(0);    // oldest
    writer.varint(100);  // keep-alive
}

/// Deltas have a tag in front; the liar does not care for answers.
std::vector<std::byte> tagged(ByteSpan entries) {
    std::vector<std::byte> bytes(3 + entries.size());
    ByteWriter writer(bytes);
    sync::write_delta_head(writer, 0);
    writer.bytes(entries);
    return bytes;
}

template <class Entry>
std::vector<std::byte> encoded(const Entry& entry) {
    std::vector<std::byte> bytes(gossip::kMaximumPayload);
    ByteWriter writer(bytes);
    encode(writer, entry);
    bytes.resize(writer.size());
    return bytes;
}

/// A message with this entry alone.
template <class Entry>
std::vector<std::byte> message_of(const Entry& entry) {
    std::vector<std::byte> bytes = encoded(entry);
    bytes.insert(bytes.begin(), std::byte{0});  // the empty head
    return bytes;
}

sync::LimitKey key_of(std::string_view quota) {
    sync::LimitKey key;
    key.quota = sync::quota_hash(quota);
    key.period_ms = 1000;
    return key;
}

/// A limit that lets one request pass in twelve days, and has room for many.
sync::NameEntry next_to_nothing(const std::string& quota) {
    sync::NameEntry entry;
    entry.key = key_of(quota);
    entry.name = quota;
    entry.rate = 1e-6;
    entry.low = 1e-6;
    entry.high = kHuge;
    return entry;
}

std::vector<std::byte> future_definition(std::string_view quota) {
    std::vector<std::byte> bytes(gossip::kMaximumPayload);
    ByteWriter writer(bytes);
    write_empty_head(writer);
    const std::size_t entry = writer.begin_length();
    writer.string(quota);
    writer.varint(std::numeric_limits<std::uint64_t>::max());
    writer.u64(99);    // the writer
    writer.u8(1);      // absent
    writer.varint(0);  // age
    writer.string("");
    writer.string("");
    writer.end_length(entry);
    bytes.resize(writer.size());
    return bytes;
}

}  // namespace

std::string_view to_string(Lie lie) {
    static constexpr std::array<std::string_view, kLies.size()> names = {
        "counts_beyond",    "falling_counts", "not_a_number", "infinite_rate",   "leaping_counts",
        "huge_rate",        "huge_total",     "busy_total",   "huge_handover",   "huge_hint",
        "wrong_parameters", "future_clock",   "future_epoch", "invented_limits", "named_limits"};
    return names[static_cast<std::size_t>(lie)];
}

LyingPeer::LyingPeer(const std::string& cluster, const Endpoint& self, const gossip::Key& key,
                     gossip::NonceSource& nonces, std::uint64_t seed)
    : transport_(settings_of(cluster, self), std::span(&key, 1), nonces, Random(seed)) {}

void LyingPeer::start(std::vector<Endpoint> seeds, Instant now) {
    transport_.set_seeds(std::move(seeds));
    transport_.start(local(now));
}

void LyingPeer::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    static_cast<void>(transport_.receive(datagram, from, local(now)));
}

void LyingPeer::tick(Instant now) { transport_.tick(local(now)); }

std::vector<membership::OutgoingDatagram> LyingPeer::take_outgoing(Instant now) {
    static_cast<void>(transport_.take_events());
    static_cast<void>(transport_.take_owner_changes());
    return transport_.flush(local(now));
}

bool LyingPeer::owns(std::string_view quota) const {
    return transport_.owners().owns(transport_.self(),
                                    membership::shard_of(sync::quota_hash(quota)));
}

void LyingPeer::send_to_all(MessageType type, ByteSpan payload) {
    for (const membership::Member& member : transport_.membership().live()) {
        transport_.send(member.id, type, payload);
    }
}

void LyingPeer::tell_delta(Lie lie, const sync::LimitKey& key) {
    const auto count = lies_ * 2'000;
    if (lie == Lie::leaping_counts || lie == Lie::huge_rate) {
        sync::DeltaEntry entry;
        entry.key = key;
        entry.run = kRun;
        const double leap = lie == Lie::leaping_counts ? 0x1p54 / 64 : 0;
        entry.admitted = leap * static_cast<double>(lies_);
        entry.offered = entry.admitted + 100 * static_cast<double>(lies_);
        entry.rate = lie == Lie::huge_rate ? kHuge : 0;
        entry.keep_alive = kForEver;
        send_to_all(MessageType::delta, tagged(encoded(entry)));
        return;
    }
    std::array<std::byte, 128> bytes{};
    ByteWriter writer(bytes);
    switch (lie) {
        case Lie::counts_beyond:
            write_raw_delta(writer, key, std::numeric_limits<std::uint64_t>::max() - 1, 1);
            break;
        case Lie::falling_counts: {
            sync::DeltaEntry entry;
            entry.key = key;
            entry.run = kRun;
            // Up at first, then down by turns, while the offered weight goes on growing.
            entry.admitted = lies_ % 2 == 1 ? 1000 : 10;
            entry.offered = 2000 + static_cast<double>(lies_);
            encode(writer, entry);
            break;
        }
        case Lie::not_a_number:
            write_raw_delta(writer, key, count, std::numeric_limits<float>::quiet_NaN());
            break;
        default:
            write_raw_delta(writer, key, count, std::numeric_limits<float>::infinity());
            break;
    }
    send_to_all(MessageType::delta, tagged(writer.written()));
}

void LyingPeer::tell_limits(bool named) {
    for (std::size_t i = 0; i < kInventedAtOnce; ++i) {
        const std::string quota = "invented/" + std::to_string(lies_ * kInventedAtOnce + i);
        sync::DeltaEntry entry;
        entry.key = key_of(quota);
        entry.run = kRun;
        entry.admitted = entry.offered = 1;
        entry.keep_alive = std::chrono::seconds(1);
        send_to_all(MessageType::delta, tagged(encoded(entry)));
        if (named) {
            send_to_all(MessageType::name_tell, message_of(next_to_nothing(quota)));
        }
    }
}

void LyingPeer::tell(Lie lie, std::string_view quota) {
    ++lies_;
    const sync::LimitKey key = key_of(quota);
    switch (lie) {
        case Lie::huge_total:
        case Lie::busy_total: {
            sync::TotalEntry entry;
            entry.key = key;
            entry.life = kRun;
            entry.filled = true;
            entry.level = lie == Lie::busy_total ? kPossibleLevel : kHuge;
            entry.rate = kHuge;
            entry.origins = 1;
            entry.keep_alive = kForEver;
            entry.pace = 255;
            send_to_all(MessageType::total, message_of(entry));
            break;
        }
        case Lie::huge_handover:
            send_to_all(
                MessageType::handover,
                message_of(sync::HandoverEntry{key, kHuge, kHuge, kHuge, kForEver, 0, 1, false}));
            break;
        case Lie::huge_hint:
            send_to_all(MessageType::hints,
                        message_of(sync::HotEntry{key, kHuge, kHuge, Duration::zero(), true}));
            break;
        case Lie::wrong_parameters:
            send_to_all(MessageType::name_tell, message_of(next_to_nothing(std::string(quota))));
            break;
        case Lie::future_clock:
            leap_ = std::chrono::hours(24 * 365);
            break;
        case Lie::future_epoch:
            send_to_all(MessageType::definition_push, future_definition(quota));
            break;
        case Lie::invented_limits:
        case Lie::named_limits:
            tell_limits(lie == Lie::named_limits);
            break;
        default:
            tell_delta(lie, key);
            break;
    }
}

}  // namespace weir::tools
