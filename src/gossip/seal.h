#pragma once
// Sealing of datagrams with XChaCha20-Poly1305 (libsodium). A nonce is the sender's clock and a
// random number: two datagrams under one key have the same one only if they were sent at the same
// reading of the clock, by one member or by two, and drew the same of 2^64 numbers. A ring has at
// most two keys: the first one seals, and either of them opens. Without keys nothing is sealed and
// sealed datagrams are refused; a user has to choose this insecure mode. Not thread-safe, because
// the source of nonces is not. Keys are wiped on destruction.

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

/// The largest number of bytes inside the seal of one frame of a stream.
inline constexpr std::size_t kMaximumFrameContent = 64 * 1024;
inline constexpr std::size_t kMaximumFrame = kMaximumFrameContent + kClearHeader + kSealOverhead;

using Key = std::array<std::byte, 32>;
inline constexpr std::size_t kMaximumKeys = 2;

/// The id of a key: 32 bits of a one-way hash, which tell nothing about a random key. The id stands
/// unencrypted before the bytes that the key seals. 0 means that there is no key.
using KeyId = std::uint32_t;
[[nodiscard]] KeyId key_id(const Key& key);
/// The id as eight hexadecimal digits.
[[nodiscard]] std::string to_text(KeyId id);
/// The id of the key that a datagram claims to be sealed with; 0 if it is not sealed or is no
/// datagram of this protocol.
[[nodiscard]] KeyId claimed_key(ByteSpan datagram);

/// The source of nonces: libsodium's generator in production, and a seeded one where a run must be
/// repeatable byte for byte. The seeded one must never be used for real traffic.
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
    /// The source of nonces must outlive the sealer. Keys beyond the first kMaximumKeys are
    /// ignored.
    Sealer(std::span<const Key> keys, NonceSource& nonces);
    ~Sealer();
    Sealer(const Sealer&) = delete;
    Sealer& operator=(const Sealer&) = delete;

    /// Replaces the keys: the first one seals from now on, and all of them open.
    void set_keys(std::span<const Key> keys);
    [[nodiscard]] bool insecure() const { return ring_.empty(); }
    /// Whether this is the key that seals. In the insecure mode the id is 0.
    [[nodiscard]] bool seals_with(KeyId key) const {
        return ring_.empty() ? key == 0 : ring_.front().id == key;
    }
    /// The ids of the ring's keys; the one that seals comes first.
    [[nodiscard]] std::vector<KeyId> key_ids() const;

    /// The number of bytes of a datagram or a frame that seals `content` bytes.
    [[nodiscard]] std::size_t sealed_size(std::size_t content) const;
    /// Seals the content, which is an envelope and messages, and returns a whole datagram. The
    /// content must fit into it. `sent_at_us` is the sender's clock in microseconds, which
    /// everybody can read and nobody can alter.
    [[nodiscard]] std::vector<std::byte> seal(ByteSpan content, std::uint64_t sent_at_us);

    /// The result of opening. The content lies in a buffer of the sealer and is valid until the
    /// next call.
    struct Opened {
        ByteSpan content;
        std::optional<DatagramRejection> rejection;  // set: there is no content
        KeyId key = 0;                               // which key opened it
        std::uint64_t sent_at_us = 0;                // of a datagram
    };
    [[nodiscard]] Opened open(ByteSpan datagram);

    /// The same for the frames of a stream. Frames may be longer, and have a random number in place
    /// of the clock. Their mode byte differs from that of datagrams, so neither can be taken for
    /// the other.
    [[nodiscard]] std::vector<std::byte> seal_frame(ByteSpan content);
    [[nodiscard]] Opened open_frame(ByteSpan frame);

  private:
    struct RingKey {
        Key key{};
        KeyId id = 0;
    };
    using Clock = std::array<std::byte, 8>;
    [[nodiscard]] std::vector<std::byte> seal_as(ByteSpan content, const Clock& clock, bool frame);
    [[nodiscard]] Opened open_as(ByteSpan bytes, std::span<std::byte> buffer, bool frame);
    [[nodiscard]] Opened open_sealed(ByteSpan bytes, std::span<std::byte> buffer);

    std::vector<RingKey> ring_;
    NonceSource& nonces_;
    std::array<std::byte, kMaximumDatagram> buffer_{};
    std::vector<std::byte> frame_buffer_;  // made when the first frame is opened
};

}  // namespace weir::gossip
