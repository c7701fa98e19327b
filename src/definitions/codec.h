#pragma once
// The binary form of quota definitions, for datagrams and documents. Encoding writes the whole
// definition, however long it is. Decoding refuses definitions that are too large for the limiter
// and allocates no more memory than the input is long. It does not check whether the definition is
// valid; validate_alone() of rules.h does. Limits of kinds that only a later version knows are left
// out and counted (limiter::QuotaOptions). The bytes of peers are kept and passed on as they came,
// so nothing gets lost on the way to sidecars that know these kinds. The table of fields (fields.h)
// has the number of each field. docs/protocol.md describes each byte. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// Encodes everything but the name of a definition, as the map of overrides keeps it.
[[nodiscard]] std::string encode_definition(const limiter::QuotaDefinition& definition);
/// Decodes it again. Errors: truncated input, values out of range, bytes left over.
[[nodiscard]] Result<limiter::QuotaDefinition> decode_definition(std::string_view name,
                                                                 std::string_view value);

/// Encodes the definition with its name before it, as an element of a document. There must be room
/// for most_encoded_bytes() of it.
void encode_next(ByteWriter& writer, const limiter::QuotaDefinition& definition);
/// Decodes it again. The errors are the same, but bytes may be left over.
[[nodiscard]] Result<limiter::QuotaDefinition> decode_next(ByteReader& reader);
/// The largest number of bytes that the definition may need, whether it is valid or not.
[[nodiscard]] std::size_t most_encoded_bytes(const limiter::QuotaDefinition& definition);

/// A document is a list of definitions, sorted by name, so that equal documents have equal bytes.
inline constexpr std::size_t kMaximumDocument = 256 * 1024 * 1024;
inline constexpr std::size_t kMaximumSetName = 128;

/// Encodes a document. The error is too_large if it would have more than `most` bytes.
[[nodiscard]] Result<std::vector<std::byte>> encode_document(
    std::span<const limiter::QuotaDefinition> definitions, std::size_t most = kMaximumDocument);
/// A hash of the document, which tells different contents of one generation apart.
[[nodiscard]] std::uint64_t document_hash(ByteSpan bytes);

}  // namespace weir::definitions
