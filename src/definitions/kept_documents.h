#pragma once
// The documents that are in force, as the bytes of a file, so that a sidecar whose quota files are
// missing or bad when it starts has those that were in force last. docs/protocol.md describes each
// byte. Each document has its hash and what precedes the documents has a checksum, so a file that
// is cut off or altered is refused as a whole.
//
// Pure functions; thread-safe. Unlike a snapshot of overrides (snapshot.h), the file has no age:
// an old document is replaced by the first newer generation that a peer or a file has.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "definitions/codec.h"

namespace weir::definitions {

struct KeptDocument {
    std::string set;
    /// Nothing: it held for this sidecar alone.
    std::optional<std::uint64_t> generation;
    std::uint64_t content_hash = 0;
    std::shared_ptr<const std::vector<std::byte>> bytes;
};

/// A file of more bytes is neither written nor read: the largest document of one set, and as much
/// for all others.
inline constexpr std::size_t kMaximumKept = 2 * kMaximumDocument;

/// The front of the file; the bytes of the documents follow it, in their order.
[[nodiscard]] std::vector<std::byte> front_of_kept(const std::vector<KeptDocument>& documents,
                                                   std::string_view cluster);

/// The documents of a file. The error says why it must not be used: it is none of weir's, of
/// another cluster or format, cut off, or altered.
[[nodiscard]] Result<std::vector<KeptDocument>> read_kept(ByteSpan file, std::string_view cluster);

/// Whether a file that begins so is one of these, or empty.
[[nodiscard]] bool may_be_kept(ByteSpan beginning);
inline constexpr std::size_t kKeptMagicBytes = 8;

}  // namespace weir::definitions
