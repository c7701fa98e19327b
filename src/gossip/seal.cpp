#include "gossip/seal.h"

#include <sodium.h>

#include <algorithm>

#include "base/assert.h"

namespace weir::gossip {
namespace {

constexpr std::array<std::byte, 2> kMagic{std::byte{'w'}, std::byte{'r'}};
constexpr std::uint8_t kModeInsecure = 0;
constexpr std::uint8_t kModeSealed = 1;
constexpr std::size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kNonce + kTag == kSealOverhead);
static_assert(std::tuple_size_v<Key> == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

std::array<std::byte, 4> key_id(const Key& key) {
    constexpr std::string_view context = "weir key id";
    std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
    crypto_generichash(hash.data(), hash.size(),
                       reinterpret_cast<const unsigned char*>(context.data()), context.size(),
                       raw(key.data()), key.size());
    std::array<std::byte, 4> id{};
    std::transform(hash.begin(), hash.begin() + 4, id.begin(),
                   [](unsigned char byte) { return std::byte{byte}; });
    return id;
}

void write_header(ByteWriter& writer, std::uint8_t mode, const std::array<std::byte, 4>& id) {
    writer.bytes(kMagic);
    writer.u8(kProtocolVersion);
    writer.u8(mode);
    writer.bytes(id);
}

std::optional<Rejection> check_header(ByteSpan datagram, bool insecure) {
    if (datagram.size() > kMaximumDatagram) {
        return Rejection::too_long;
    }
    if (datagram.size() < kClearHeader) {
        return Rejection::too_short;
    }
    if (!std::equal(kMagic.begin(), kMagic.end(), datagram.begin())) {
        return Rejection::not_weir;
    }
    if (std::to_integer<std::uint8_t>(datagram[2]) != kProtocolVersion) {
        return Rejection::version;
    }
    const auto mode = std::to_integer<std::uint8_t>(datagram[3]);
    if (mode != kModeInsecure && mode != kModeSealed) {
        return Rejection::version;
    }
    if (insecure != (mode == kModeInsecure)) {
        return insecure ? Rejection::sealed : Rejection::unsealed;
    }
    return std::nullopt;
}

bool decode_text(std::string_view text, Key& key) {
    auto* const out = raw(key.data());
    std::size_t length = 0;
    const char* end = nullptr;
    if (text.size() == 64) {
        return sodium_hex2bin(out, key.size(), text.data(), text.size(), nullptr, &length, &end) ==
                   0 &&
               length == key.size() && end == text.data() + text.size();
    }
    return text.size() == 44 &&
           sodium_base642bin(out, key.size(), text.data(), text.size(), nullptr, &length, &end,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           length == key.size() && end == text.data() + text.size();
}

}  // namespace

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

std::size_t Sealer::sealed_size(std::size_t content) const {
    return kClearHeader + content + (insecure() ? 0 : kSealOverhead);
}

std::vector<std::byte> Sealer::seal(ByteSpan content) {
    std::vector<std::byte> datagram(sealed_size(content.size()));
    WEIR_ASSERT(datagram.size() <= kMaximumDatagram);
    ByteWriter writer(datagram);
    if (insecure()) {
        write_header(writer, kModeInsecure, {});
        writer.bytes(content);
        return datagram;
    }
    write_header(writer, kModeSealed, ring_.front().id);
    const std::span<std::byte> nonce = std::span(datagram).subspan(kClearHeader, kNonce);
    nonces_.fill(nonce);
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw(datagram.data() + kClearHeader + kNonce),
                                               nullptr, raw(content.data()), content.size(),
                                               raw(datagram.data()), kClearHeader, nullptr,
                                               raw(nonce.data()), raw(ring_.front().key.data()));
    return datagram;
}

Sealer::Opened Sealer::open(ByteSpan datagram) {
    if (const auto rejection = check_header(datagram, insecure())) {
        return {{}, rejection};
    }
    if (!insecure()) {
        return open_sealed(datagram);
    }
    const ByteSpan content = datagram.subspan(kClearHeader);
    std::copy(content.begin(), content.end(), buffer_.begin());
    return {ByteSpan(buffer_).first(content.size()), std::nullopt};
}

Sealer::Opened Sealer::open_sealed(ByteSpan datagram) {
    if (datagram.size() < kClearHeader + kSealOverhead) {
        return {{}, Rejection::too_short};
    }
    const ByteSpan id = datagram.subspan(4, 4);
    const ByteSpan nonce = datagram.subspan(kClearHeader, kNonce);
    const ByteSpan cipher = datagram.subspan(kClearHeader + kNonce);
    Rejection rejection = Rejection::unknown_key;
    for (const RingKey& key : ring_) {
        if (!std::equal(key.id.begin(), key.id.end(), id.begin())) {
            continue;
        }
        rejection = Rejection::forged;
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(
                raw(buffer_.data()), nullptr, nullptr, raw(cipher.data()), cipher.size(),
                raw(datagram.data()), kClearHeader, raw(nonce.data()), raw(key.key.data())) == 0) {
            return {ByteSpan(buffer_).first(cipher.size() - kTag), std::nullopt};
        }
    }
    return {{}, rejection};
}

Result<Key> parse_key(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin != std::string_view::npos) {
        text = text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
    }
    Key key{};
    if (!decode_text(text, key)) {
        return error(ErrorCode::invalid_argument,
                     "a gossip key is 32 random bytes, as 64 hexadecimal digits or 44 characters "
                     "of base64 (make one with: openssl rand -base64 32)");
    }
    return key;
}

}  // namespace weir::gossip
