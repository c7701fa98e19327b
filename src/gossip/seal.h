#pragma once
// Sealing of datagrams with XChaCha20-Poly1305 (libsodium) under random nonces, with a ring of at
// most two keys: either one opens, the first one seals. An empty ring is the explicit insecure
// mode: nothing is sealed, and nothing sealed is accepted.
// Not thread-safe (the nonce source is not). Keys are wiped on destruction.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "gossip/rejection.h"
#include "gossip/wire.h"

namespace weir::gossip {

using Key = std::array<std::byte, 32>;
inline constexpr std::size_t kMaximumKeys = 2;

/// Where nonces come from: libsodium's generator in production; a seeded one where a run has to
/// be repeatable byte for byte (never use that one for real traffic).
class NonceSource {
  public:
    virtual ~NonceSource() = default;
    virtual void fill(std::span<std::byte> nonce) = 0;
};

class SystemNonces final : public NonceSource {
  public:
    void fill(std::span<std::byte> nonce) override;
};

class SeededNonces final : public NonceSource {
  public:
    explicit SeededNonces(Random random) : random_(random) {}
    void fill(std::span<std::byte> nonce) override;

  private:
    Random random_;
};

class Sealer {
  public:
    /// The nonce source must outlive the sealer. More than kMaximumKeys keys: the rest is ignored.
    Sealer(std::span<const Key> keys, NonceSource& nonces);
    ~Sealer();
    Sealer(const Sealer&) = delete;
    Sealer& operator=(const Sealer&) = delete;

    /// A rotation: the first key seals from now on, all are accepted.
    void set_keys(std::span<const Key> keys);
    [[nodiscard]] bool insecure() const { return ring_.empty(); }

    /// How many bytes a datagram with `content` bytes inside the seal has.
    [[nodiscard]] std::size_t sealed_size(std::size_t content) const;
    /// A whole datagram around the content (envelope and messages). The content must fit.
    [[nodiscard]] std::vector<std::byte> seal(ByteSpan content);

    /// The content, in a buffer of the sealer that is valid until the next call.
    struct Opened {
        ByteSpan content;
        std::optional<Rejection> rejection;  // set: there is no content
    };
    [[nodiscard]] Opened open(ByteSpan datagram);

  private:
    struct RingKey {
        Key key{};
        std::array<std::byte, 4> id{};
    };
    [[nodiscard]] Opened open_sealed(ByteSpan datagram);

    std::vector<RingKey> ring_;
    NonceSource& nonces_;
    std::array<std::byte, kMaximumDatagram> buffer_{};
};

/// A key from 64 hexadecimal digits or 44 characters of base64 (32 bytes), blanks around it
/// ignored: the content of a key file. The error never repeats the text.
[[nodiscard]] Result<Key> parse_key(std::string_view text);

}  // namespace weir::gossip
