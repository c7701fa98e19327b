#pragma once
// The messages by which sidecars exchange definitions: plain values, and functions that write them
// to bytes and read them. Reading is bounded; docs/protocol.md describes each byte.
// Pure functions, thread-safe.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "definitions/codec.h"
#include "definitions/generation.h"
#include "definitions/map.h"
#include "gossip/wire.h"

namespace weir::definitions {

inline constexpr std::size_t kMaximumWriterName = 64;  // bytes of `who`
inline constexpr std::size_t kMaximumReason = 256;     // bytes of `why`
/// The largest entry, with its length, that fits into one message behind the head of a partition.
inline constexpr std::size_t kMaximumEntry = gossip::kMaximumPayload - 3;

/// The most that the bytes of an entry that the store has taken can need, whatever its age.
inline constexpr std::size_t kMaximumStoredEntry = kMaximumEntry + 64;

/// The hashes of the 64 partitions (or of the 64 slots of one partition), cut to 32 bits.
using ShortHashes = std::array<std::uint32_t, DefinitionMap::kPartitions>;
[[nodiscard]] ShortHashes shorten(const DefinitionMap::Hashes& hashes);

struct SetDigest {
    std::string set;
    std::uint64_t generation = 0;
    std::uint64_t content = 0;
    /// The content for which the sender votes (set_files.h), or kForInForce, if it has a file of
    /// the set.
    std::optional<std::uint64_t> on_disk{};
    friend bool operator==(const SetDigest&, const SetDigest&) = default;
};

/// A summary of what its sender has. A digest with `partitions` is the answer to one that differs
/// from the sender's own.
struct DefinitionDigest {
    std::uint64_t root = 0;
    std::vector<Version> writers;
    std::vector<SetDigest> sets;
    std::optional<ShortHashes> partitions;
    friend bool operator==(const DefinitionDigest&, const DefinitionDigest&) = default;
};

/// How the files of a set are counted, as a collector tells it to those that vote; and the decision
/// for a receiver that has the decided content on disk. Such records follow an empty head.
struct SetCount {
    static constexpr std::size_t kMostContents = 4;
    static constexpr std::size_t kMostPlaces = 3;
    struct Content {
        std::uint64_t content = 0;
        std::uint64_t count = 0;
        std::vector<Endpoint> places;  // some of those who have it, at most kMostPlaces
        friend bool operator==(const Content&, const Content&) = default;
    };
    std::string set;
    SetVersion decision;  // its generation is kUndecided if there is none
    std::uint64_t voters = 0;
    std::vector<Content> contents;  // those that most have first, at most kMostContents
    friend bool operator==(const SetCount&, const SetCount&) = default;
};

/// Asks for the entries of one partition in the slots whose hashes differ from these. With `mutual`
/// the receiver must ask the same in return.
struct PartitionAsk {
    std::uint8_t partition = 0;
    bool mutual = false;
    ShortHashes slots{};
    friend bool operator==(const PartitionAsk&, const PartitionAsk&) = default;
};

struct DocumentAsk {
    std::string set;
    std::uint64_t generation = 0;
    std::uint32_t first_page = 0;
    std::uint8_t pages = 0;
    friend bool operator==(const DocumentAsk&, const DocumentAsk&) = default;
};

inline constexpr std::size_t kPageBytes = 900;
inline constexpr std::size_t kMaximumPages = kMaximumDocument / kPageBytes + 1;

struct DocumentPage {
    std::string set;
    std::uint64_t generation = 0;
    std::uint64_t content = 0;  // document_hash() of the whole document
    std::uint32_t page = 0;
    std::uint32_t pages = 0;
    std::vector<std::byte> bytes;
    friend bool operator==(const DocumentPage&, const DocumentPage&) = default;
};

/// An entry is a record (base/records.h). It travels with its age, so `now` is needed at both ends.
void encode(ByteWriter& writer, const DefinitionEntry& entry, Instant now);
[[nodiscard]] DefinitionEntry decode_entry(ByteReader& reader, Instant now);
/// The largest number of bytes that the entry takes, whatever its age is when it is sent.
[[nodiscard]] std::size_t entry_size(const DefinitionEntry& entry);

void encode(ByteWriter& writer, const Version& version);
[[nodiscard]] Version decode_version(ByteReader& reader);
/// The same as a record: that an entry of this version has arrived.
void encode_acknowledgement(ByteWriter& writer, const Version& version);
[[nodiscard]] Version decode_acknowledgement(ByteReader& reader);

/// The head of a message with entries of one partition.
struct PartitionHead {
    std::uint8_t partition = 0;
    bool more = false;  // the partition has more entries than were sent
};
void encode(ByteWriter& writer, const PartitionHead& head);
[[nodiscard]] PartitionHead decode_partition_head(ByteReader& reader);

/// Writes as many sets of the digest as fit.
void encode(ByteWriter& writer, const DefinitionDigest& digest);
void encode(ByteWriter& writer, const SetCount& count);
void encode(ByteWriter& writer, const PartitionAsk& ask);
void encode(ByteWriter& writer, const DocumentAsk& ask);
void encode(ByteWriter& writer, const DocumentPage& page);

/// Each of these functions reads one value. It was well-formed if reader.ok() is true afterwards.
[[nodiscard]] DefinitionDigest decode_digest(ByteReader& reader);
[[nodiscard]] SetCount decode_set_count(ByteReader& reader);
[[nodiscard]] PartitionAsk decode_partition_ask(ByteReader& reader);
[[nodiscard]] DocumentAsk decode_document_ask(ByteReader& reader);
[[nodiscard]] DocumentPage decode_document_page(ByteReader& reader);

}  // namespace weir::definitions
