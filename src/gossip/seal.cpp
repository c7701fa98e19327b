#include "gossip/seal.h"

#include <sodium.h>

#include <algorithm>

#include "base/assert.h"
#include "base/planted.h"

namespace weir::gossip {
namespace {

constexpr std::array<std::byte, 2> kMagic{std::byte{'w'}, std::byte{'r'}};
constexpr std::uint8_t kModeInsecure = 0;
constexpr std::uint8_t kModeSealed = 1;
constexpr std::uint8_t kModeInsecureFrame = 2;
constexpr std::uint8_t kModeSealedFrame = 3;
constexpr std::size_t kClockAt = 8;
constexpr std::size_t kRandom = 8;
constexpr std::size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kRandom + kTag == kSealOverhead);
static_assert(kClearHeader - kClockAt == sizeof(std::uint64_t));
static_assert(std::tuple_size_v<Key> == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

using Nonce = std::array<std::byte, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES>;

/// The clock and the random number, which stand one behind the other, and zeros.
Nonce nonce_of(ByteSpan datagram) {
    Nonce nonce{};
    const ByteSpan sent = datagram.subspan(kClockAt, sizeof(std::uint64_t) + kRandom);
    static_assert(sizeof(std::uint64_t) + kRandom <= std::tuple_size_v<Nonce>);
    std::copy(sent.begin(), sent.end(), nonce.begin());
    return nonce;
}

std::uint64_t clock_of(ByteSpan datagram) {
    return ByteReader(datagram.subspan(kClockAt, sizeof(std::uint64_t))).u64();
}

std::optional<DatagramRejection> check_header(ByteSpan datagram, bool insecure, bool frame) {
    if (datagram.size() > (frame ? kMaximumFrame : kMaximumDatagram)) {
        return DatagramRejection::too_long;
    }
    if (datagram.size() < kClearHeader && !planted(Planted::clear_header)) {
        return DatagramRejection::too_short;
    }
    if (!std::equal(kMagic.begin(), kMagic.end(), datagram.begin())) {
        return DatagramRejection::not_weir;
    }
    if (std::to_integer<std::uint8_t>(datagram[2]) != kProtocolVersion) {
        return DatagramRejection::version;
    }
    const auto mode = std::to_integer<std::uint8_t>(datagram[3]);
    const std::uint8_t open = frame ? kModeInsecureFrame : kModeInsecure;
    const std::uint8_t sealed = frame ? kModeSealedFrame : kModeSealed;
    if (mode != open && mode != sealed) {
        return DatagramRejection::version;
    }
    if (insecure != (mode == open)) {
        return insecure ? DatagramRejection::sealed : DatagramRejection::unsealed;
    }
    return std::nullopt;
}

}  // namespace

KeyId key_id(const Key& key) {
    constexpr std::string_view context = "weir key id";
    std::array<std::byte, crypto_generichash_BYTES_MIN> hash{};
    crypto_generichash(raw(hash.data()), hash.size(),
                       reinterpret_cast<const unsigned char*>(context.data()), context.size(),
                       raw(key.data()), key.size());
    return ByteReader(hash).u32();
}

std::string to_text(KeyId id) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) {
        text += digits[(id >> shift) & 0xf];
    }
    return text;
}

KeyId claimed_key(ByteSpan datagram) {
    ByteReader reader(datagram);
    const ByteSpan magic = reader.bytes(kMagic.size());
    reader.u8();
    const std::uint8_t mode = reader.u8();
    const KeyId id = reader.u32();
    const bool ours = reader.ok() && std::equal(magic.begin(), magic.end(), kMagic.begin());
    return ours && mode == kModeSealed ? id : 0;
}

void SystemNonces::fill(std::span<std::byte> nonce) { randombytes_buf(nonce.data(), nonce.size()); }

void SeededNonces::fill(std::span<std::byte> nonce) {
    for (std::byte& byte : nonce) {
        byte = static_cast<std::byte>(random_.next());
    }
}

Sealer::Sealer(std::span<const Key> keys, NonceSource& nonces) : nonces_(nonces) {
    WEIR_ASSERT(sodium_init() >= 0);
    set_keys(keys);
}

Sealer::~Sealer() { set_keys({}); }

void Sealer::set_keys(std::span<const Key> keys) {
    for (RingKey& key : ring_) {
        sodium_memzero(key.key.data(), key.key.size());
    }
    ring_.clear();
    for (const Key& key : keys.first(std::min(keys.size(), kMaximumKeys))) {
        ring_.push_back({key, key_id(key)});
    }
}

std::vector<KeyId> Sealer::key_ids() const {
    std::vector<KeyId> ids;
    for (const RingKey& key : ring_) {
        ids.push_back(key.id);
    }
    return ids;
}

std::size_t Sealer::sealed_size(std::size_t content) const {
    return kClearHeader + content + (insecure() ? 0 : kSealOverhead);
}

std::vector<std::byte> Sealer::seal(ByteSpan content, std::uint64_t sent_at_us) {
    Clock clock{};
    ByteWriter(clock).u64(sent_at_us);
    return seal_as(content, clock, false);
}

std::vector<std::byte> Sealer::seal_frame(ByteSpan content) {
    Clock instead{};
    nonces_.fill(instead);
    return seal_as(content, instead, true);
}

std::vector<std::byte> Sealer::seal_as(ByteSpan content, const Clock& clock, bool frame) {
    std::vector<std::byte> datagram(sealed_size(content.size()));
    WEIR_ASSERT(datagram.size() <= (frame ? kMaximumFrame : kMaximumDatagram));
    const std::uint8_t sealed = frame ? kModeSealedFrame : kModeSealed;
    const std::uint8_t open = frame ? kModeInsecureFrame : kModeInsecure;
    ByteWriter writer(datagram);
    writer.bytes(kMagic);
    writer.u8(kProtocolVersion);
    writer.u8(insecure() ? open : sealed);
    writer.u32(insecure() ? 0 : ring_.front().id);
    writer.bytes(clock);
    WEIR_ASSERT(writer.size() == kClearHeader);
    if (insecure()) {
        writer.bytes(content);
        return datagram;
    }
    nonces_.fill(std::span(datagram).subspan(kClearHeader, kRandom));
    const Nonce nonce = nonce_of(datagram);
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw(datagram.data() + kClearHeader + kRandom),
                                               nullptr, raw(content.data()), content.size(),
                                               raw(datagram.data()), kClearHeader, nullptr,
                                               raw(nonce.data()), raw(ring_.front().key.data()));
    return datagram;
}

Sealer::Opened Sealer::open(ByteSpan datagram) { return open_as(datagram, buffer_, false); }

Sealer::Opened Sealer::open_frame(ByteSpan frame) {
    frame_buffer_.resize(kMaximumFrame);
    return open_as(frame, frame_buffer_, true);
}

Sealer::Opened Sealer::open_as(ByteSpan datagram, std::span<std::byte> buffer, bool frame) {
    if (const auto rejection = check_header(datagram, insecure(), frame)) {
        return {{}, rejection, 0, 0};
    }
    if (!insecure()) {
        return open_sealed(datagram, buffer);
    }
    const ByteSpan content = datagram.subspan(kClearHeader);
    std::copy(content.begin(), content.end(), buffer.begin());
    return {buffer.first(content.size()), std::nullopt, 0, clock_of(datagram)};
}

Sealer::Opened Sealer::open_sealed(ByteSpan datagram, std::span<std::byte> buffer) {
    if (datagram.size() < kClearHeader + kSealOverhead) {
        return {{}, DatagramRejection::too_short, 0, 0};
    }
    const KeyId id = ByteReader(datagram.subspan(4, 4)).u32();
    const Nonce nonce = nonce_of(datagram);
    const ByteSpan cipher = datagram.subspan(kClearHeader + kRandom);
    DatagramRejection rejection = DatagramRejection::unknown_key;
    for (const RingKey& key : ring_) {
        if (key.id != id) {
            continue;
        }
        rejection = DatagramRejection::forged;
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(
                raw(buffer.data()), nullptr, nullptr, raw(cipher.data()), cipher.size(),
                raw(datagram.data()), kClearHeader, raw(nonce.data()), raw(key.key.data())) == 0) {
            return {buffer.first(cipher.size() - kTag), std::nullopt, key.id, clock_of(datagram)};
        }
    }
    return {{}, rejection, 0, 0};
}

}  // namespace weir::gossip
