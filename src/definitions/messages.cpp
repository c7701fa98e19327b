#include "definitions/messages.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/planted.h"
#include "base/records.h"
#include "limiter/definition.h"

namespace weir::definitions {
namespace {

constexpr std::uint8_t kKindMask = 3;
constexpr std::uint8_t kHasLifetime = 4;
constexpr std::uint8_t kHasPartitions = 1;
/// The number of the field of a set in a digest, and how many bytes it takes with its number.
constexpr std::uint64_t kFieldOnDisk = 1;
constexpr std::size_t kOnDiskBytes = 10;
constexpr Duration kLongest = std::chrono::hours(24 * 400);

void write_milliseconds(ByteWriter& writer, Duration duration) {
    const Duration bounded = std::clamp(duration, Duration::zero(), kLongest);
    writer.varint(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(bounded).count()));
}

Duration read_milliseconds(ByteReader& reader) {
    constexpr auto longest = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kLongest).count());
    const std::uint64_t read = reader.varint();
    return std::chrono::milliseconds(planted(Planted::entry_age) ? read : std::min(read, longest));
}

void write_hashes(ByteWriter& writer, const ShortHashes& hashes) {
    for (std::uint32_t hash : hashes) {
        writer.u32(hash);
    }
}

ShortHashes read_hashes(ByteReader& reader) {
    ShortHashes hashes{};
    for (std::uint32_t& hash : hashes) {
        hash = reader.u32();
    }
    return hashes;
}

std::string read_set_name(ByteReader& reader) {
    const std::string_view name = reader.string(kMaximumSetName);
    if (name.empty()) {
        reader.fail();
    }
    return std::string(name);
}

}  // namespace

ShortHashes shorten(const DefinitionMap::Hashes& hashes) {
    ShortHashes result{};
    std::transform(hashes.begin(), hashes.end(), result.begin(),
                   [](std::uint64_t hash) { return static_cast<std::uint32_t>(hash); });
    return result;
}

void encode(ByteWriter& writer, const Version& version) {
    writer.varint(version.epoch);
    writer.u64(version.writer);
}

Version decode_version(ByteReader& reader) {
    Version version;
    version.epoch = reader.varint();
    version.writer = reader.u64();
    return version;
}

void encode_acknowledgement(ByteWriter& writer, const Version& version) {
    const RecordWriter record(writer);
    encode(writer, version);
}

Version decode_acknowledgement(ByteReader& reader) {
    RecordReader record(reader);
    return decode_version(record.fields());
}

void encode(ByteWriter& writer, const PartitionHead& head) {
    const RecordWriter record(writer);
    writer.u8(head.partition);
    writer.u8(head.more ? 1 : 0);
}

PartitionHead decode_partition_head(ByteReader& reader) {
    RecordReader record(reader);
    PartitionHead head;
    head.partition = record.fields().u8();
    head.more = record.fields().u8() != 0;
    if (head.partition >= DefinitionMap::kPartitions) {
        record.fields().fail();
    }
    return head;
}

void encode(ByteWriter& writer, const DefinitionEntry& entry, Instant now) {
    const RecordWriter record(writer);
    writer.string(entry.name);
    encode(writer, entry.version);
    writer.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(entry.kind) |
                                        (entry.lifetime ? kHasLifetime : 0)));
    write_milliseconds(writer, now - entry.written);
    if (entry.lifetime) {
        write_milliseconds(writer, *entry.lifetime);
    }
    writer.string(entry.who);
    writer.string(entry.why);
    if (entry.kind == EntryKind::set) {
        writer.string(entry.value);
    }
}

DefinitionEntry decode_entry(ByteReader& outer, Instant now) {
    DefinitionEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.name = std::string(reader.string(limiter::kMaxNameBytes));
    entry.version = decode_version(reader);
    const std::uint8_t flags = reader.u8();
    if (entry.name.empty() || (flags & kKindMask) > 2) {
        reader.fail();
        return entry;
    }
    entry.kind = static_cast<EntryKind>(flags & kKindMask);
    entry.written = now - read_milliseconds(reader);
    if ((flags & kHasLifetime) != 0) {
        entry.lifetime = read_milliseconds(reader);
    }
    entry.who = std::string(reader.string(kMaximumWriterName));
    entry.why = std::string(reader.string(kMaximumReason));
    if (entry.kind == EntryKind::set) {
        entry.value = std::string(reader.string(kMaximumEntry));
    }
    return entry;
}

std::size_t entry_size(const DefinitionEntry& entry) {
    std::vector<std::byte> buffer(4096);
    ByteWriter writer(buffer);
    // The age grows on the way, so its longest encoding counts.
    DefinitionEntry oldest = entry;
    oldest.written = Instant{};
    encode(writer, oldest, Instant{} + kLongest);
    return writer.ok() ? writer.size() : buffer.size();
}

namespace {

void write_digest_head(ByteWriter& writer, const DefinitionDigest& digest) {
    const RecordWriter head(writer);
    writer.u8(digest.partitions ? kHasPartitions : 0);
    writer.u64(digest.root);
    writer.u8(static_cast<std::uint8_t>(std::min(digest.writers.size(), DefinitionMap::kWriters)));
    for (std::size_t i = 0; i < std::min(digest.writers.size(), DefinitionMap::kWriters); ++i) {
        encode(writer, digest.writers[i]);
    }
    if (digest.partitions) {
        write_hashes(writer, *digest.partitions);
    }
}

void read_digest_head(ByteReader& outer, DefinitionDigest& digest) {
    RecordReader head(outer);
    ByteReader& reader = head.fields();
    const std::uint8_t flags = reader.u8();
    digest.root = reader.u64();
    const std::uint8_t writers = reader.u8();
    if (writers > DefinitionMap::kWriters) {
        reader.fail();
        return;
    }
    for (std::uint8_t i = 0; i < writers && reader.ok(); ++i) {
        digest.writers.push_back(decode_version(reader));
    }
    if ((flags & kHasPartitions) != 0) {
        digest.partitions = read_hashes(reader);
    }
}

SetDigest decode_set(ByteReader& outer) {
    RecordReader record(outer);
    SetDigest set;
    set.set = read_set_name(record.fields());
    set.generation = record.fields().varint();
    set.content = record.fields().u64();
    while (record.fields().ok() && record.fields().remaining() > 0) {
        const std::uint64_t number = record.fields().varint();
        ByteReader field = record.fields().record();
        if (number == kFieldOnDisk && !set.on_disk) {
            set.on_disk = field.u64();
            if (!field.ok()) {
                record.fields().fail();
            }
        }
    }
    return set;
}

}  // namespace

void encode(ByteWriter& writer, const DefinitionDigest& digest) {
    write_digest_head(writer, digest);
    for (const SetDigest& set : digest.sets) {
        const std::size_t on_disk = set.on_disk ? kOnDiskBytes : 0;
        if (writer.remaining() < 2 + kMaximumSetName + 2 + 10 + 8 + on_disk) {
            break;
        }
        const RecordWriter record(writer);
        writer.string(set.set);
        writer.varint(set.generation);
        writer.u64(set.content);
        if (set.on_disk) {
            writer.varint(kFieldOnDisk);
            const RecordWriter field(writer);
            writer.u64(*set.on_disk);
        }
    }
}

DefinitionDigest decode_digest(ByteReader& reader) {
    DefinitionDigest digest;
    read_digest_head(reader, digest);
    while (reader.ok() && reader.remaining() > 0) {
        digest.sets.push_back(decode_set(reader));
    }
    return digest;
}

void encode(ByteWriter& writer, const SetCount& count) {
    WEIR_ASSERT(count.contents.size() <= SetCount::kMostContents);
    const RecordWriter record(writer);
    writer.string(count.set);
    writer.varint(count.decision.generation);
    writer.u64(count.decision.content);
    writer.varint(count.voters);
    writer.u8(static_cast<std::uint8_t>(count.contents.size()));
    for (const SetCount::Content& content : count.contents) {
        WEIR_ASSERT(content.places.size() <= SetCount::kMostPlaces);
        writer.u64(content.content);
        writer.varint(content.count);
        writer.u8(static_cast<std::uint8_t>(content.places.size()));
        for (const Endpoint& place : content.places) {
            gossip::encode(writer, place);
        }
    }
}

SetCount decode_set_count(ByteReader& outer) {
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    SetCount count;
    count.set = read_set_name(reader);
    count.decision.generation = reader.varint();
    count.decision.content = reader.u64();
    count.voters = reader.varint();
    const std::uint8_t contents = reader.u8();
    if (contents > SetCount::kMostContents) {
        reader.fail();
    }
    for (std::uint8_t i = 0; i < contents && reader.ok(); ++i) {
        SetCount::Content content;
        content.content = reader.u64();
        content.count = reader.varint();
        const std::uint8_t places = reader.u8();
        if (places > SetCount::kMostPlaces) {
            reader.fail();
        }
        for (std::uint8_t place = 0; place < places && reader.ok(); ++place) {
            content.places.push_back(gossip::decode_endpoint(reader));
        }
        count.contents.push_back(std::move(content));
    }
    return count;
}

void encode(ByteWriter& writer, const PartitionAsk& ask) {
    WEIR_ASSERT(ask.partition < DefinitionMap::kPartitions);
    writer.u8(ask.partition);
    writer.u8(ask.mutual ? 1 : 0);
    write_hashes(writer, ask.slots);
}

PartitionAsk decode_partition_ask(ByteReader& reader) {
    PartitionAsk ask;
    ask.partition = reader.u8();
    ask.mutual = reader.u8() != 0;
    ask.slots = read_hashes(reader);
    if (ask.partition >= DefinitionMap::kPartitions) {
        reader.fail();
    }
    return ask;
}

void encode(ByteWriter& writer, const DocumentAsk& ask) {
    writer.string(ask.set);
    writer.varint(ask.generation);
    writer.varint(ask.first_page);
    writer.u8(ask.pages);
}

DocumentAsk decode_document_ask(ByteReader& reader) {
    DocumentAsk ask;
    ask.set = read_set_name(reader);
    ask.generation = reader.varint();
    const std::uint64_t first = reader.varint();
    ask.pages = reader.u8();
    if (first >= kMaximumPages) {
        reader.fail();
        return ask;
    }
    ask.first_page = static_cast<std::uint32_t>(first);
    return ask;
}

void encode(ByteWriter& writer, const DocumentPage& page) {
    WEIR_ASSERT(page.page < page.pages && page.bytes.size() <= kPageBytes);
    writer.string(page.set);
    writer.varint(page.generation);
    writer.u64(page.content);
    writer.varint(page.page);
    writer.varint(page.pages);
    writer.varint(page.bytes.size());
    writer.bytes(page.bytes);
}

DocumentPage decode_document_page(ByteReader& reader) {
    DocumentPage page;
    page.set = read_set_name(reader);
    page.generation = reader.varint();
    page.content = reader.u64();
    const std::uint64_t number = reader.varint();
    const std::uint64_t pages = reader.varint();
    const std::uint64_t size = reader.varint();
    if (pages == 0 || pages > kMaximumPages || number >= pages || size > kPageBytes) {
        reader.fail();
        return page;
    }
    page.page = static_cast<std::uint32_t>(number);
    page.pages = static_cast<std::uint32_t>(pages);
    const ByteSpan bytes = reader.bytes(static_cast<std::size_t>(size));
    page.bytes.assign(bytes.begin(), bytes.end());
    return page;
}

}  // namespace weir::definitions
