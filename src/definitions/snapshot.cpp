#include "definitions/snapshot.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "base/planted.h"
#include "definitions/messages.h"

namespace weir::definitions {
namespace {

/// Constants of the format: "weir snapshot   ".
constexpr HashKey kSumKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                           std::byte{' '}, std::byte{'s'}, std::byte{'n'}, std::byte{'a'},
                           std::byte{'p'}, std::byte{'s'}, std::byte{'h'}, std::byte{'o'},
                           std::byte{'t'}, std::byte{' '}, std::byte{' '}, std::byte{' '}}};
constexpr std::string_view kMagic = "weirsnap";
constexpr std::size_t kMagicAndFormat = kMagic.size() + 2;
constexpr std::size_t kLength = 4;
constexpr std::size_t kSum = 8;
constexpr std::size_t kMaximumCluster = 64;

enum class SnapshotBlock : std::uint8_t {
    header = 1,
    entries = 2,
    end = 3,
    counts = 4,
    levels = 5
};

/// The checksum of a block also covers the blocks before it, so that none can be lost, doubled or
/// moved.
std::uint64_t chained(std::uint64_t before, ByteSpan content) {
    return mix(before ^ keyed_hash(as_text(content), kSumKey));
}

/// Completes a block of length, content and checksum. `bytes` has room for the length before the
/// content and for the checksum after it.
std::vector<std::byte> close_block(std::vector<std::byte> bytes, std::size_t content,
                                   std::size_t in_front, std::uint64_t& sum) {
    WEIR_ASSERT(content > 0 && in_front + kLength + content + kSum <= bytes.size());
    ByteWriter length{std::span<std::byte>(bytes).subspan(in_front, kLength)};
    length.u32(static_cast<std::uint32_t>(content));
    sum = chained(sum, ByteSpan(bytes).subspan(in_front + kLength, content));
    ByteWriter tail{std::span<std::byte>(bytes).subspan(in_front + kLength + content, kSum)};
    tail.u64(sum);
    bytes.resize(in_front + kLength + content + kSum);
    return bytes;
}

std::uint64_t milliseconds(Duration duration) {
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

}  // namespace

// --- writing ------------------------------------------------------------------------------------

SnapshotWriter::SnapshotWriter(const DefinitionMap& map, std::string_view cluster, Instant now,
                               Duration unix_now, WriteCounts write_counts,
                               WriteLevels write_levels)
    : map_(map),
      cluster_(cluster),
      now_(now),
      unix_now_(unix_now),
      write_counts_(std::move(write_counts)),
      write_levels_(std::move(write_levels)) {}

std::vector<std::byte> SnapshotWriter::next() {
    if (phase_ == Phase::header) {
        phase_ = Phase::entries;
        return header();
    }
    if (phase_ == Phase::entries) {
        std::vector<std::byte> bytes = some_entries();
        if (!bytes.empty()) {
            return bytes;
        }
        phase_ = Phase::counts;
    }
    if (phase_ == Phase::counts) {
        std::vector<std::byte> bytes = some_counts();
        if (!bytes.empty()) {
            return bytes;
        }
        phase_ = Phase::levels;
    }
    if (phase_ == Phase::levels) {
        std::vector<std::byte> bytes = some_levels();
        if (!bytes.empty()) {
            return bytes;
        }
        phase_ = Phase::end;
    }
    return std::exchange(phase_, Phase::done) == Phase::end ? end() : std::vector<std::byte>();
}

std::vector<std::byte> SnapshotWriter::header() {
    std::vector<std::byte> bytes(kMagicAndFormat + kLength + 32 + kMaximumCluster + kSum);
    ByteWriter front(bytes);
    front.bytes(as_bytes(kMagic));
    front.u16(kSnapshotFormat);
    ByteWriter content{std::span<std::byte>(bytes).subspan(kMagicAndFormat + kLength)};
    content.u8(static_cast<std::uint8_t>(SnapshotBlock::header));
    content.varint(milliseconds(unix_now_));
    content.string(std::string_view(cluster_).substr(0, kMaximumCluster));
    WEIR_ASSERT(front.ok() && content.ok());
    return close_block(std::move(bytes), content.size(), kMagicAndFormat, sum_);
}

/// A block with as many entries as fit; empty when none were left.
std::vector<std::byte> SnapshotWriter::some_entries() {
    std::vector<std::byte> bytes(kLength + kMaximumSnapshotBlock + kSum);
    ByteWriter content{std::span<std::byte>(bytes).subspan(kLength, kMaximumSnapshotBlock)};
    content.u8(static_cast<std::uint8_t>(SnapshotBlock::entries));
    bool full = false;
    while (slot_ < DefinitionMap::kAllSlots && !full) {
        map_.for_each_in_slot(
            slot_ / DefinitionMap::kSlots, slot_ % DefinitionMap::kSlots,
            [&](const DefinitionEntry& entry) {
                full = content.remaining() < kMaximumStoredEntry;
                if (!full) {
                    encode(content, entry, now_);
                    after_ = entry.name;
                    ++entries_;
                }
                return !full;
            },
            after_);
        if (!full) {
            ++slot_;
            after_.clear();
        }
    }
    WEIR_ASSERT(slot_ <= DefinitionMap::kAllSlots && content.size() <= kMaximumSnapshotBlock);
    if (content.size() == 1) {
        return {};
    }
    return close_block(std::move(bytes), content.size(), 0, sum_);
}

/// A block with as many counts as fit; empty when none were left.
std::vector<std::byte> SnapshotWriter::some_counts() {
    if (!write_counts_) {
        return {};
    }
    std::vector<std::byte> bytes(kLength + kMaximumSnapshotBlock + kSum);
    ByteWriter content{std::span<std::byte>(bytes).subspan(kLength, kMaximumSnapshotBlock)};
    content.u8(static_cast<std::uint8_t>(SnapshotBlock::counts));
    const std::size_t written = write_counts_(content);
    WEIR_ASSERT(content.ok() && (written > 0) == (content.size() > 1));
    counts_ += written;
    return written == 0 ? std::vector<std::byte>()
                        : close_block(std::move(bytes), content.size(), 0, sum_);
}

/// A block with some of the levels; empty when none were left.
std::vector<std::byte> SnapshotWriter::some_levels() {
    if (!write_levels_) {
        return {};
    }
    std::vector<std::byte> bytes(kLength + kMaximumSnapshotBlock + kSum);
    ByteWriter content{std::span<std::byte>(bytes).subspan(kLength, kMaximumSnapshotBlock)};
    content.u8(static_cast<std::uint8_t>(SnapshotBlock::levels));
    const std::optional<std::size_t> written = write_levels_(content);
    WEIR_ASSERT(content.ok());
    levels_ += written.value_or(0);
    return written ? close_block(std::move(bytes), content.size(), 0, sum_)
                   : std::vector<std::byte>();
}

std::vector<std::byte> SnapshotWriter::end() {
    std::vector<std::byte> bytes(kLength + 16 + kSum);
    ByteWriter content{std::span<std::byte>(bytes).subspan(kLength)};
    content.u8(static_cast<std::uint8_t>(SnapshotBlock::end));
    content.varint(entries_);
    WEIR_ASSERT(content.ok() && phase_ == Phase::done);
    return close_block(std::move(bytes), content.size(), 0, sum_);
}

// --- reading ------------------------------------------------------------------------------------

SnapshotReader::SnapshotReader(SnapshotExpectation expected, Take take, TakeBlock take_counts,
                               TakeBlock take_levels)
    : expected_(std::move(expected)),
      take_(std::move(take)),
      take_counts_(std::move(take_counts)),
      take_levels_(std::move(take_levels)) {}

/// The number of bytes to read next, as far as it is known: never more than one block.
std::size_t SnapshotReader::wanted() const {
    if (phase_ == Phase::magic) {
        return kMagicAndFormat;
    }
    if (input_.size() < kLength) {
        return kLength;
    }
    return kLength + ByteReader(ByteSpan(input_).first(kLength)).u32() + kSum;
}

std::optional<SnapshotFault> SnapshotReader::receive(ByteSpan bytes) {
    while (!fault_ && !bytes.empty()) {
        if (phase_ == Phase::done) {
            fault_ = SnapshotFault::damaged;  // there are bytes behind the end
            break;
        }
        WEIR_ASSERT(input_.size() < wanted());
        const std::size_t taken = std::min(wanted() - input_.size(), bytes.size());
        input_.insert(input_.end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(taken));
        bytes = bytes.subspan(taken);
        if (wanted() > kLength + kMaximumSnapshotBlock + kSum) {
            fault_ = SnapshotFault::damaged;
        } else if (input_.size() == wanted()) {
            fault_ = take_unit();
            input_.clear();
        }
    }
    return fault_;
}

std::optional<SnapshotFault> SnapshotReader::finish() const {
    if (fault_) {
        return fault_;
    }
    if (phase_ == Phase::done) {
        WEIR_ASSERT(input_.empty());
        return old_ ? std::optional(SnapshotFault::old) : std::nullopt;
    }
    return begins_otherwise() ? SnapshotFault::foreign : SnapshotFault::truncated;
}

/// Whether the file is not weir's. A file shorter than the magic may be weir's if it is the
/// beginning of it.
bool SnapshotReader::begins_otherwise() const {
    const std::size_t known = std::min(input_.size(), kMagic.size());
    return phase_ == Phase::magic &&
           as_text(ByteSpan(input_).first(known)) != kMagic.substr(0, known);
}

std::optional<SnapshotFault> SnapshotReader::take_unit() {
    WEIR_ASSERT(input_.size() == wanted());
    if (phase_ != Phase::magic) {
        return take_block();
    }
    ByteReader reader(input_);
    if (as_text(reader.bytes(kMagic.size())) != kMagic) {
        return SnapshotFault::foreign;
    }
    if (reader.u16() != kSnapshotFormat) {
        return SnapshotFault::format;
    }
    phase_ = Phase::header;
    return std::nullopt;
}

std::optional<SnapshotFault> SnapshotReader::take_block() {
    WEIR_ASSERT(input_.size() >= kLength + kSum && phase_ != Phase::done);
    const ByteSpan content = ByteSpan(input_).subspan(kLength, input_.size() - kLength - kSum);
    const std::uint64_t sum = chained(sum_, content);
    const bool altered = ByteReader(ByteSpan(input_).last(kSum)).u64() != sum;
    if (altered && !planted(Planted::snapshot_sum)) {
        return SnapshotFault::damaged;
    }
    sum_ = sum;
    ByteReader reader(content);
    const auto type = static_cast<SnapshotBlock>(reader.u8());
    if (!reader.ok() || (type == SnapshotBlock::header) != (phase_ == Phase::header)) {
        return SnapshotFault::damaged;
    }
    switch (type) {
        case SnapshotBlock::header:
            phase_ = Phase::entries;
            return on_header(reader);
        case SnapshotBlock::entries:
            return on_entries(reader);
        case SnapshotBlock::counts:
            if (take_counts_) {
                take_counts_(content.subspan(1));
            }
            return std::nullopt;
        case SnapshotBlock::levels:
            if (take_levels_) {
                take_levels_(content.subspan(1));
            }
            return std::nullopt;
        case SnapshotBlock::end:
            phase_ = Phase::done;
            return reader.varint() == entries_ && reader.ok()
                       ? std::nullopt
                       : std::optional(SnapshotFault::damaged);
    }
    return std::nullopt;  // a kind of block of a later version
}

std::optional<SnapshotFault> SnapshotReader::on_header(ByteReader& reader) {
    constexpr std::uint64_t kLatest = std::uint64_t{1} << 43;  // the year 2248
    const std::uint64_t written = reader.varint();
    cluster_ = std::string(reader.string(kMaximumCluster));
    if (!reader.ok() || written > kLatest) {
        return SnapshotFault::damaged;
    }
    if (cluster_ != expected_.cluster) {
        return SnapshotFault::cluster;
    }
    const Duration then = std::chrono::milliseconds(written);
    age_ = std::max(expected_.unix_now - then, Duration::zero());
    old_ = age_ > expected_.most_age;
    return std::nullopt;
}

std::optional<SnapshotFault> SnapshotReader::on_entries(ByteReader& reader) {
    while (reader.remaining() > 0) {
        DefinitionEntry entry = decode_entry(reader, expected_.now - age_);
        if (!reader.ok()) {
            return SnapshotFault::damaged;
        }
        ++entries_;
        if (take_ && !old_) {
            take_(std::move(entry));
        }
    }
    return std::nullopt;
}

}  // namespace weir::definitions
