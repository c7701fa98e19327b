#pragma once
// The binary form of quota definitions, for datagrams and documents. Encoding writes all of what it
// is given, however long; decoding refuses what the limiter would not take for its size, and
// allocates no more than the input is long. Who takes a definition in asks limiter::validate_alone.
// docs/protocol.md describes each byte. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// Everything of a definition but its name, as the API layer's map keeps it.
[[nodiscard]] std::string encode_definition(const limiter::QuotaDefinition& definition);
/// The reverse. Errors: truncated input, values out of range, bytes left over.
[[nodiscard]] Result<limiter::QuotaDefinition> decode_definition(std::string_view name,
                                                                 std::string_view value);

/// A document is a list of definitions, sorted by name, so that equal documents have equal bytes.
inline constexpr std::size_t kMaximumDocument = 256 * 1024 * 1024;
inline constexpr std::size_t kMaximumSetName = 128;

/// Error too_large above `most` bytes.
[[nodiscard]] Result<std::vector<std::byte>> encode_document(
    std::span<const limiter::QuotaDefinition> definitions, std::size_t most = kMaximumDocument);
[[nodiscard]] Result<std::vector<limiter::QuotaDefinition>> decode_document(ByteSpan bytes);
/// The next definition of a document.
[[nodiscard]] Result<limiter::QuotaDefinition> decode_next(ByteReader& reader);
/// Tells contents of one generation apart.
[[nodiscard]] std::uint64_t document_hash(ByteSpan bytes);

}  // namespace weir::definitions
