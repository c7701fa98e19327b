#pragma once
// The changes that were made by the API, for all sidecars of the fleet: a last-writer-wins map
// (Shapiro et al. 2011, 3.2) from a quota's name to an opaque value. Of two entries of one name the
// one with the higher version (epoch, then writer) wins. A writer gives its entry an epoch above
// all epochs that it knows. A removal stays as an entry of its own, a tombstone, for 24 hours.
// Merging is commutative, associative, idempotent and monotone: the edits of both sides of a split
// all arrive, in whatever order they come.
//
// Two maps are compared by hashes over 64 partitions with 64 slots each.
//
// An entry travels with its age and not with a date, because there is no common clock. `written` is
// an estimate, by the clock of this process, of when the entry was written. So tombstones and
// lifetimes end at about the same time in all sidecars.
//
// Thread-safety: none. Ownership: it owns its entries. Invariants: there are at most as many
// entries as the constructor says, and every hash is the sum over the entries that it covers.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"

namespace weir::definitions {

struct Version {
    std::uint64_t epoch = 0;
    std::uint64_t writer = 0;
    friend auto operator<=>(const Version&, const Version&) = default;
};

enum class EntryKind : std::uint8_t {
    set,     // its value holds instead of what files say
    absent,  // hides the definition that files have of this name
    removed  // a tombstone: there was an override, and there is none any more
};

struct DefinitionEntry {
    std::string name;
    Version version;
    EntryKind kind = EntryKind::removed;
    std::string value;  // an encoded definition; empty unless the kind is `set`
    std::string who;
    std::string why;
    std::optional<Duration> lifetime;  // counted from `written`; afterwards the entry has no effect
    Instant written{};

    /// Whether its lifetime has ended.
    [[nodiscard]] bool expired(Instant now) const;
    /// Whether the entry has an effect at this instant: it is no tombstone and has not expired.
    [[nodiscard]] bool in_force(Instant now) const;
};

/// Whether both entries have the same content; `written` is not compared, because it is an
/// estimate.
[[nodiscard]] bool same_content(const DefinitionEntry& one, const DefinitionEntry& other);

enum class MergeOutcome : std::uint8_t {
    applied,  // it is in the map now
    known,    // the map had this very entry
    older,    // the map has a newer entry of this name
    epoch,    // refused: its epoch is more than 2^32 above the highest one known
    stale,   // refused: a tombstone or an expired entry whose 24 hours are over, of an unknown name
    full,    // refused: its name is not in the map, and there is no room for another one
    invalid  // refused by the store, never by the map: its value is no well-formed definition
};

class DefinitionMap {
  public:
    static constexpr std::size_t kPartitions = 64;
    static constexpr std::size_t kSlots = 64;  // of each partition
    static constexpr std::size_t kAllSlots = kPartitions * kSlots;
    static constexpr std::uint64_t kEpochLeap = std::uint64_t{1} << 32;
    static constexpr Duration kTombstoneTime = std::chrono::hours(24);
    static constexpr std::size_t kWriters = 16;

    using Hashes = std::array<std::uint64_t, kPartitions>;

    explicit DefinitionMap(std::size_t maximum_entries) : maximum_(maximum_entries) {}

    /// The version for a new entry of this writer: above all versions that are known here.
    [[nodiscard]] Version next_version(std::uint64_t writer) const;
    /// Merges an entry of a peer or of this sidecar.
    MergeOutcome merge(DefinitionEntry entry, Instant now);
    /// The entry of this name, tombstones included, or null; valid until the next change.
    [[nodiscard]] const DefinitionEntry* find(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return size_; }

    /// Names of entries whose lifetime has ended, each of them once, at most `budget` of them.
    [[nodiscard]] std::vector<std::string> take_expired(Instant now, std::size_t budget = SIZE_MAX);
    /// Drops tombstones and expired entries whose 24 hours are over. Looks at `budget` entries and
    /// goes on with the next ones when it is called again.
    void forget_old(Instant now, std::size_t budget);

    /// The highest epoch of each of the writers that wrote last, the newest first; at most
    /// kWriters.
    [[nodiscard]] std::vector<Version> writers() const;
    [[nodiscard]] std::uint64_t root_hash() const { return root_; }
    [[nodiscard]] const Hashes& partition_hashes() const { return partitions_; }
    [[nodiscard]] Hashes slot_hashes(std::size_t partition) const;
    /// Visits the entries of one slot in the order of names, beginning after the name `after`,
    /// until `visit` returns false.
    void for_each_in_slot(std::size_t partition, std::size_t slot,
                          const std::function<bool(const DefinitionEntry&)>& visit,
                          std::string_view after = {}) const;

  private:
    /// One slot of a partition; both lists are in the order of names. A tag is a part of the name's
    /// hash, so that a name is found without comparing other names. Entries are only replaced as a
    /// whole, so that copies of a map may share them.
    struct Slot {
        std::vector<std::uint32_t> tags;
        std::vector<std::shared_ptr<const DefinitionEntry>> entries;
    };
    struct Hashed {
        std::size_t slot;
        std::uint32_t tag;
    };

    [[nodiscard]] static Hashed hashed(std::string_view name);
    [[nodiscard]] static std::size_t known_place(const Slot& slot, std::uint32_t tag,
                                                 std::string_view name);
    void add_hash(std::size_t slot, std::uint64_t hash);
    void insert(Hashed at, DefinitionEntry entry);
    void replace(std::size_t slot, std::size_t place, DefinitionEntry entry);
    void erase(std::size_t slot, std::size_t place);
    void note(std::size_t slot, const DefinitionEntry& entry);
    void unnote(std::size_t slot, const DefinitionEntry& entry);
    void note_writer(const Version& version);

    std::size_t maximum_;
    std::size_t size_ = 0;
    std::vector<Slot> slots_ = std::vector<Slot>(kAllSlots);
    std::set<std::pair<Instant, std::string>> deadlines_;  // of entries with a lifetime
    std::map<std::uint64_t, std::uint64_t> writers_;       // the highest epoch of each writer
    std::uint64_t highest_epoch_ = 0;
    std::uint64_t root_ = 0;
    Hashes partitions_{};
    std::vector<std::uint64_t> slot_hashes_ = std::vector<std::uint64_t>(kAllSlots);
    std::size_t forget_slot_ = 0;  // where forget_old() goes on
    std::string forget_after_;
};

}  // namespace weir::definitions
