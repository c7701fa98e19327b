#pragma once
// Writes the overrides of a sidecar (the changes by the API, tombstones included) as the bytes of a
// file and reads them again, so that a fleet that is stopped as a whole keeps the changes that
// `weir quota set` made. A caller may add counts and levels of limits, in blocks of their own whose
// content it gives and takes. docs/protocol.md describes each byte.
//
// A snapshot is written block by block while the map may change. Each entry is complete, and a
// change to a part that has been written is left to the next snapshot. Each block ends in a
// checksum of its content and of the contents of all blocks before it. So a snapshot that is cut
// off or altered is refused as a whole, as is one of another cluster or format. Of an old one
// nothing but the counts and levels is used.
//
// The file holds the time of writing by the wall clock, so that lifetimes and tombstones also end
// while the process is down. If the wall clock shows an earlier time than that when the file is
// read, the snapshot is taken for one that has just been written.
//
// Writer and reader are state machines without a clock or a file. Thread-safety: none. Bounds: each
// holds one block at a time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "definitions/map.h"

namespace weir::definitions {

inline constexpr std::uint16_t kSnapshotFormat = 2;
/// The largest number of bytes in a block, without its length and checksum. A file with a larger
/// block is damaged.
inline constexpr std::size_t kMaximumSnapshotBlock = 64 * 1024;

class SnapshotWriter {
  public:
    /// Writes as many counts as fit into the block and returns how many, 0 if none are left.
    using WriteCounts = std::function<std::size_t(ByteWriter& block)>;
    /// The same for levels. A block may have none of them although some are left; nothing is
    /// returned when none are left.
    using WriteLevels = std::function<std::optional<std::size_t>(ByteWriter& block)>;

    /// `map` must outlive the writer and may change between calls. `now` and `unix_now` are one
    /// instant by the monotonic and by the wall clock, the latter as the time since 1970.
    SnapshotWriter(const DefinitionMap& map, std::string_view cluster, Instant now,
                   Duration unix_now, WriteCounts write_counts = {}, WriteLevels write_levels = {});
    /// The next piece of the file, which is a block with its length and checksum; the first piece
    /// has the file's magic and format in front of the block. Empty after the end of the file.
    [[nodiscard]] std::vector<std::byte> next();
    /// How many entries have been written so far.
    [[nodiscard]] std::uint64_t entries() const { return entries_; }
    /// How many counts.
    [[nodiscard]] std::uint64_t counts() const { return counts_; }
    /// How many levels.
    [[nodiscard]] std::uint64_t levels() const { return levels_; }

  private:
    enum class Phase : std::uint8_t { header, entries, counts, levels, end, done };
    [[nodiscard]] std::vector<std::byte> header();
    [[nodiscard]] std::vector<std::byte> some_entries();
    [[nodiscard]] std::vector<std::byte> some_counts();
    [[nodiscard]] std::vector<std::byte> some_levels();
    [[nodiscard]] std::vector<std::byte> end();

    const DefinitionMap& map_;
    std::string cluster_;
    Instant now_;
    Duration unix_now_;
    Phase phase_ = Phase::header;
    std::size_t slot_ = 0;  // the slot of the map that is being written, of kAllSlots
    std::string after_;     // the last name that was written of this slot; empty: none yet
    WriteCounts write_counts_;
    WriteLevels write_levels_;
    std::uint64_t entries_ = 0;
    std::uint64_t counts_ = 0;
    std::uint64_t levels_ = 0;
    std::uint64_t sum_ = 0;  // the checksum of all blocks so far
};

/// Why a snapshot is not used.
enum class SnapshotFault : std::uint8_t {
    foreign,    // the file does not begin like a snapshot
    format,     // another version of weir has written it, in a format that this one does not know
    truncated,  // the file ends before the snapshot does
    damaged,    // a checksum does not match its blocks, or the bytes make no sense
    cluster,    // it was written in a cluster of another cluster.name
    /// It is older than `most_age`: the fleet may have forgotten removals since then. Only its
    /// counts and levels may be used.
    old
};

struct SnapshotExpectation {
    std::string cluster;
    Instant now{};
    Duration unix_now{};
    /// The overrides of an older snapshot are refused (`old`).
    Duration most_age{};
};

class SnapshotReader {
  public:
    using Take = std::function<void(DefinitionEntry entry)>;
    using TakeBlock = std::function<void(ByteSpan block)>;

    /// Gives entries to `take`, and blocks of counts and of levels to the two others, as their
    /// blocks come; without these the snapshot is only checked. The caller must not use them before
    /// finish() has found no fault, or none but `old` for counts and levels, because only then the
    /// whole snapshot is known to be correct.
    explicit SnapshotReader(SnapshotExpectation expected, Take take = {},
                            TakeBlock take_counts = {}, TakeBlock take_levels = {});
    /// Takes the next bytes of the file, in pieces of any length. Returns the fault of the
    /// snapshot, if one has been found so far; further bytes are then ignored.
    [[nodiscard]] std::optional<SnapshotFault> receive(ByteSpan bytes);
    /// To be called at the end of the file. Returns the fault of the whole snapshot, or nothing.
    [[nodiscard]] std::optional<SnapshotFault> finish() const;
    [[nodiscard]] std::uint64_t entries() const { return entries_; }
    /// How long ago the snapshot was written, by the wall clock, and the cluster that it names:
    /// zero and empty until the header has been read. For another cluster's snapshot the age stays
    /// zero.
    [[nodiscard]] Duration age() const { return age_; }
    [[nodiscard]] const std::string& cluster() const { return cluster_; }

  private:
    enum class Phase : std::uint8_t { magic, header, entries, done };
    // The file is read in units: first its magic and format, which are one unit, then its blocks.
    [[nodiscard]] std::size_t wanted() const;
    [[nodiscard]] bool begins_otherwise() const;
    [[nodiscard]] std::optional<SnapshotFault> take_unit();
    [[nodiscard]] std::optional<SnapshotFault> take_block();
    [[nodiscard]] std::optional<SnapshotFault> on_header(ByteReader& reader);
    [[nodiscard]] std::optional<SnapshotFault> on_entries(ByteReader& reader);

    SnapshotExpectation expected_;
    Take take_;
    TakeBlock take_counts_;
    TakeBlock take_levels_;
    std::vector<std::byte> input_;  // the beginning of the unit that is being read
    Phase phase_ = Phase::magic;
    std::optional<SnapshotFault> fault_;
    bool old_ = false;
    std::uint64_t entries_ = 0;
    std::uint64_t sum_ = 0;
    Duration age_{};
    std::string cluster_;
};

}  // namespace weir::definitions
