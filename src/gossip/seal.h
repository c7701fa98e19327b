#pragma once
// Sealing of datagrams with XChaCha20-Poly1305 (libsodium) under random nonces, with a ring of at
// most two keys: either one opens, the first one seals. An empty ring is the explicit insecure
// mode: nothing is sealed, and nothing sealed is accepted.
// Not thread-safe (the nonce source is not). Keys are wiped on destruction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "gossip/rejection.h"
#include "gossip/wire.h"

namespace weir::gossip {

/// Bytes inside the seal of one frame of a stream.
inline constexpr std::size_t kMaximumFrameContent = 64 * 1024;
inline constexpr std::size_t kMaximumFrame = kMaximumFrameContent + kClearHeader + kSealOverhead;

using Key = std::array<std::byte, 32>;
inline constexpr std::size_t kMaximumKeys = 2;

/// What a key is known by: 32 bits of a one-way hash, which tell nothing about a random key. It
/// stands in the clear in front of what the key seals; 0 stands for "no key".
using KeyId = std::uint32_t;
[[nodiscard]] KeyId key_id(const Key& key);
/// Eight hexadecimal digits.
[[nodiscard]] std::string to_text(KeyId id);
/// The id that a datagram claims to be sealed with; 0 if it is not sealed or no datagram of ours.
[[nodiscard]] KeyId claimed_key(ByteSpan datagram);

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
    /// Is it the one that seals (0: nothing does)?
    [[nodiscard]] bool seals_with(KeyId key) const {
        return ring_.empty() ? key == 0 : ring_.front().id == key;
    }
    /// Of the ring, the one that seals first.
    [[nodiscard]] std::vector<KeyId> key_ids() const;

    /// How many bytes a datagram with `content` bytes inside the seal has.
    [[nodiscard]] std::size_t sealed_size(std::size_t content) const;
    /// A whole datagram around the content (envelope and messages). The content must fit.
    [[nodiscard]] std::vector<std::byte> seal(ByteSpan content);

    /// The content, in a buffer of the sealer that is valid until the next call.
    struct Opened {
        ByteSpan content;
        std::optional<Rejection> rejection;  // set: there is no content
        KeyId key = 0;                       // that opened it
    };
    [[nodiscard]] Opened open(ByteSpan datagram);

    /// The same for the frames of a stream: longer, and never taken for a datagram or the other
    /// way round, since the mode byte is another one.
    [[nodiscard]] std::size_t sealed_frame_size(std::size_t content) const {
        return sealed_size(content);
    }
    [[nodiscard]] std::vector<std::byte> seal_frame(ByteSpan content);
    [[nodiscard]] Opened open_frame(ByteSpan frame);

  private:
    struct RingKey {
        Key key{};
        KeyId id = 0;
    };
    [[nodiscard]] std::vector<std::byte> seal_as(ByteSpan content, bool frame);
    [[nodiscard]] Opened open_as(ByteSpan bytes, std::span<std::byte> buffer, bool frame);
    [[nodiscard]] Opened open_sealed(ByteSpan bytes, std::span<std::byte> buffer);

    std::vector<RingKey> ring_;
    NonceSource& nonces_;
    std::array<std::byte, kMaximumDatagram> buffer_{};
    std::vector<std::byte> frame_buffer_;  // made when the first frame is opened
};

}  // namespace weir::gossip
