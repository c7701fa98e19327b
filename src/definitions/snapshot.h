#pragma once
// The overrides of a sidecar as the bytes of a file, so that a fleet that stops whole keeps what
// `weir quota set` made. Writing goes piece by piece while the map goes on changing: each entry is
// whole by itself, and what changes behind the writer is for the next snapshot. Reading proves
// every byte before an entry is given away: a snapshot that is cut, altered, of another cluster or
// of a later format is refused whole. docs/protocol.md describes each byte.
//
// Ages are kept with the wall clock's time of writing, so that expiries and tombstones go on while
// the process is down; a wall clock that was set back counts as no time.
//
// State machines without clock or file; not thread-safe. Bounded: one block of input at a time.

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

inline constexpr std::uint16_t kSnapshotFormat = 1;
/// Of one block's content; more is no snapshot.
inline constexpr std::size_t kMaximumSnapshotBlock = 64 * 1024;

class SnapshotWriter {
  public:
    /// `map` is borrowed and may change between calls. `unix_now` is the wall clock's time.
    SnapshotWriter(const DefinitionMap& map, std::string_view cluster, Instant now,
                   Duration unix_now);
    /// The next bytes of the file, about 64 KiB; none after its end.
    [[nodiscard]] std::vector<std::byte> next();
    [[nodiscard]] std::uint64_t entries() const { return entries_; }

  private:
    enum class Phase : std::uint8_t { header, entries, end, done };
    [[nodiscard]] std::vector<std::byte> header();
    [[nodiscard]] std::vector<std::byte> some_entries();
    [[nodiscard]] std::vector<std::byte> end();

    const DefinitionMap& map_;
    std::string cluster_;
    Instant now_;
    Duration unix_now_;
    Phase phase_ = Phase::header;
    std::size_t leaf_ = 0;
    std::string after_;
    std::uint64_t entries_ = 0;
    std::uint64_t sum_ = 0;  // over all blocks so far
};

/// Why a snapshot is not used.
enum class SnapshotFault : std::uint8_t {
    foreign,    // does not begin as one
    format,     // of a later version
    truncated,  // ends too early
    damaged,    // a sum does not fit, or what is behind it makes no sense
    cluster,    // of another cluster.name
    old         // written too long ago: removals since then are forgotten everywhere
};
/// A word of a fixed list.
[[nodiscard]] std::string_view to_string(SnapshotFault fault);

struct SnapshotExpectation {
    std::string cluster;
    Instant now{};
    Duration unix_now{};
    /// Refused as `old` beyond it.
    Duration most_age{};
};

class SnapshotReader {
  public:
    using Take = std::function<void(DefinitionEntry entry)>;

    /// Gives entries to `take` as their blocks come. Keep them until finish() found no fault: only
    /// then is the whole known to be good.
    explicit SnapshotReader(SnapshotExpectation expected, Take take = {});
    /// Bytes in pieces of any length; what is wrong with them, for good.
    [[nodiscard]] std::optional<SnapshotFault> receive(ByteSpan bytes);
    /// The file has ended.
    [[nodiscard]] std::optional<SnapshotFault> finish() const;
    [[nodiscard]] std::uint64_t entries() const { return entries_; }
    /// How long ago it was written, by the wall clock, and the cluster that it names.
    [[nodiscard]] Duration age() const { return age_; }
    [[nodiscard]] const std::string& cluster() const { return cluster_; }

  private:
    enum class Phase : std::uint8_t { magic, header, entries, done };
    [[nodiscard]] std::size_t wanted() const;
    [[nodiscard]] bool begins_otherwise() const;
    [[nodiscard]] std::optional<SnapshotFault> take_unit();
    [[nodiscard]] std::optional<SnapshotFault> take_block();
    [[nodiscard]] std::optional<SnapshotFault> on_header(ByteReader& reader);
    [[nodiscard]] std::optional<SnapshotFault> on_entries(ByteReader& reader);

    SnapshotExpectation expected_;
    Take take_;
    std::vector<std::byte> input_;
    Phase phase_ = Phase::magic;
    std::optional<SnapshotFault> fault_;
    std::uint64_t entries_ = 0;
    std::uint64_t sum_ = 0;
    Duration age_{};
    std::string cluster_;
};

}  // namespace weir::definitions
