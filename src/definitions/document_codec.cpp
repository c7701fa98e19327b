#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "definitions/codec.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;

/// Constants of the protocol version: "weir document id".
constexpr HashKey kDocumentKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                                std::byte{' '}, std::byte{'d'}, std::byte{'o'}, std::byte{'c'},
                                std::byte{'u'}, std::byte{'m'}, std::byte{'e'}, std::byte{'n'},
                                std::byte{'t'}, std::byte{' '}, std::byte{'i'}, std::byte{'d'}}};

}  // namespace

Result<std::vector<std::byte>> encode_document(std::span<const QuotaDefinition> definitions,
                                               std::size_t most) {
    std::vector<const QuotaDefinition*> sorted;
    for (const QuotaDefinition& definition : definitions) {
        sorted.push_back(&definition);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const QuotaDefinition* a, const QuotaDefinition* b) { return a->name < b->name; });
    std::vector<std::byte> bytes;
    std::vector<std::byte> buffer;
    for (const QuotaDefinition* definition : sorted) {
        buffer.resize(std::max(buffer.size(), most_encoded_bytes(*definition)));
        ByteWriter writer(buffer);
        encode_next(writer, *definition);
        bytes.insert(bytes.end(), writer.written().begin(), writer.written().end());
        if (bytes.size() > most) {
            return error(ErrorCode::too_large, "the document takes more than " +
                                                   std::to_string(most >> 20U) +
                                                   " MiB in binary form");
        }
    }
    WEIR_ASSERT(bytes.size() <= most);
    bytes.shrink_to_fit();  // it may stay for long
    return bytes;
}

std::uint64_t document_hash(ByteSpan bytes) { return keyed_hash(as_text(bytes), kDocumentKey); }

}  // namespace weir::definitions
