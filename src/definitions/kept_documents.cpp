#include "definitions/kept_documents.h"

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "definitions/codec.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

constexpr std::string_view kKeptMagic = "weirkept";
static_assert(kKeptMagic.size() == kKeptMagicBytes);
constexpr std::uint16_t kKeptFormat = 1;
/// Magic, format and length of the list.
constexpr std::size_t kBeforeList = kKeptMagic.size() + 2 + 4;
constexpr std::size_t kKeptSum = 8;
constexpr std::size_t kKeptCluster = 64;
constexpr std::size_t kMaximumRow = kMaximumSetName + 32;
constexpr std::size_t kMaximumList =
    kKeptCluster + 16 + DefinitionStore::kMaximumSets * 2 * kMaximumRow;

/// The checksum only shows damage: whoever may write the file may edit the quota files as well.
std::uint64_t sum_of(ByteSpan bytes) { return keyed_hash(as_text(bytes), HashKey{}); }

/// What the list says of a document.
struct KeptRow {
    KeptDocument document;
    std::uint64_t size = 0;
};

std::optional<std::vector<KeptRow>> read_list(ByteReader& list, std::string& cluster) {
    cluster = list.string(kKeptCluster);
    const std::uint64_t count = list.varint();
    std::vector<KeptRow> rows;
    for (std::uint64_t i = 0; i < count && list.ok(); ++i) {
        KeptRow row;
        row.document.set = list.string(kMaximumSetName);
        const std::uint64_t generation = list.varint();
        if (generation > 0) {
            row.document.generation = generation;
        }
        row.document.content_hash = list.u64();
        row.size = list.varint();
        rows.push_back(std::move(row));
    }
    return list.ok() && list.remaining() == 0 ? std::optional(std::move(rows)) : std::nullopt;
}

}  // namespace

std::vector<std::byte> front_of_kept(const std::vector<KeptDocument>& documents,
                                     std::string_view cluster) {
    std::vector<std::byte> bytes(kBeforeList + kMaximumList + kKeptSum);
    ByteWriter list{std::span<std::byte>(bytes).subspan(kBeforeList, kMaximumList)};
    list.string(cluster.substr(0, kKeptCluster));
    list.varint(documents.size());
    for (const KeptDocument& document : documents) {
        list.string(document.set);
        list.varint(document.generation.value_or(0));
        list.u64(document.content_hash);
        list.varint(document.bytes->size());
    }
    ByteWriter front(bytes);
    front.bytes(as_bytes(kKeptMagic));
    front.u16(kKeptFormat);
    front.u32(static_cast<std::uint32_t>(list.size()));
    WEIR_ASSERT(list.ok() && front.ok() && front.size() == kBeforeList);
    const std::size_t before_sum = kBeforeList + list.size();
    ByteWriter sum{std::span<std::byte>(bytes).subspan(before_sum, kKeptSum)};
    sum.u64(sum_of(ByteSpan(bytes).first(before_sum)));
    bytes.resize(before_sum + kKeptSum);
    return bytes;
}

Result<std::vector<KeptDocument>> read_kept(ByteSpan file, std::string_view cluster) {
    const auto refused = [](std::string why) { return error(ErrorCode::invalid_argument, why); };
    ByteReader front(file);
    if (as_text(front.bytes(kKeptMagic.size())) != kKeptMagic) {
        return refused("it has no quota documents of weir");
    }
    if (const std::uint16_t format = front.u16(); front.ok() && format != kKeptFormat) {
        return refused("it is of another version's format");
    }
    const std::uint32_t length = front.u32();
    ByteReader list(front.bytes(length));
    const std::uint64_t sum = front.u64();
    if (!front.ok() || sum != sum_of(file.first(kBeforeList + length))) {
        return refused("it is damaged or ends too early");
    }
    std::string written_in;
    auto rows = read_list(list, written_in);
    if (!rows) {
        return refused("it is damaged");
    }
    if (written_in != cluster.substr(0, kKeptCluster)) {
        return refused("it is of the cluster '" + written_in + "'");
    }
    std::vector<KeptDocument> documents;
    for (KeptRow& row : *rows) {
        const ByteSpan bytes = front.bytes(row.size);
        if (!front.ok() || document_hash(bytes) != row.document.content_hash) {
            return refused("it is damaged or ends too early");
        }
        row.document.bytes =
            std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
        documents.push_back(std::move(row.document));
    }
    if (front.remaining() > 0) {
        return refused("it has bytes behind its end");
    }
    return documents;
}

bool may_be_kept(ByteSpan beginning) {
    return beginning.empty() || kKeptMagic.starts_with(as_text(beginning)) ||
           as_text(beginning).starts_with(kKeptMagic);
}

}  // namespace weir::definitions
