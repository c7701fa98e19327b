#pragma once
// The API layer of the quota definitions: a last-writer-wins map (Shapiro et al. 2011, 3.2) from
// names to opaque values, ordered by (epoch, writer). A writer takes an epoch above all that it
// knows. Removals stay as tombstones for 24 hours. Merging is commutative, associative, idempotent
// and monotone, so edits of both sides of a split all arrive, whatever the order.
//
// Maps are compared by hashes over 64 buckets of 64 leaves each.
//
// Ages travel, not dates: `written` is this process's own estimate of when an entry was written, so
// that tombstones and expiries end everywhere at about the same time without a common clock.
//
// Bounded by a number of entries. Not thread-safe.

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
    set,     // overrides whatever the file layer says
    absent,  // hides the file layer's definition
    removed  // no override any more: a tombstone
};

struct DefinitionEntry {
    std::string name;
    Version version;
    EntryKind kind = EntryKind::removed;
    std::string value;  // of kind `set` only
    std::string who;
    std::string why;
    std::optional<Duration> lifetime;  // from `written` on; then it counts as removed
    Instant written{};

    [[nodiscard]] bool expired(Instant now) const;
    /// Whether it says anything at this instant (not removed, not expired).
    [[nodiscard]] bool in_force(Instant now) const;
};

/// Whether both say the same; `written` is only an estimate and not compared.
[[nodiscard]] bool same_content(const DefinitionEntry& one, const DefinitionEntry& other);

enum class MergeOutcome : std::uint8_t {
    applied,
    known,   // the very same entry is here
    older,   // a newer one is here
    epoch,   // more than 2^32 above the highest epoch known: refused
    stale,   // a tombstone at the end of its time: refused
    full,    // no room for another name: refused
    invalid  // its value does not decode (the store says so): refused
};

class DefinitionMap {
  public:
    static constexpr std::size_t kBuckets = 64;
    static constexpr std::size_t kLeaves = 64;  // of each bucket
    static constexpr std::uint64_t kEpochLeap = std::uint64_t{1} << 32;
    static constexpr Duration kTombstoneTime = std::chrono::hours(24);
    static constexpr std::size_t kWriters = 16;

    using Hashes = std::array<std::uint64_t, kBuckets>;

    explicit DefinitionMap(std::size_t maximum_entries) : maximum_(maximum_entries) {}

    /// The version that a new change of this writer gets.
    [[nodiscard]] Version next_version(std::uint64_t writer) const;
    MergeOutcome merge(DefinitionEntry entry, Instant now);
    [[nodiscard]] const DefinitionEntry* find(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint64_t highest_epoch() const { return highest_epoch_; }
    void for_each(const std::function<void(const DefinitionEntry&)>& visit) const;

    /// Names whose lifetime ended since the last call, at most `budget` of them.
    [[nodiscard]] std::vector<std::string> take_expired(Instant now, std::size_t budget = SIZE_MAX);
    /// Drops tombstones and expired entries after their 24 hours; looks at `budget` entries.
    void forget_old(Instant now, std::size_t budget);

    /// Highest epochs of the writers that wrote last, at most kWriters, newest first.
    [[nodiscard]] std::vector<Version> writers() const;
    [[nodiscard]] std::uint64_t root_hash() const { return root_; }
    [[nodiscard]] const Hashes& bucket_hashes() const { return buckets_; }
    [[nodiscard]] Hashes leaf_hashes(std::size_t bucket) const;
    /// Visits the entries of one leaf in the order of names, those behind `after` only, until
    /// `visit` returns false.
    void for_each_in_leaf(std::size_t bucket, std::size_t leaf,
                          const std::function<bool(const DefinitionEntry&)>& visit,
                          std::string_view after = {}) const;

  private:
    /// Both in the order of names. Entries are replaced whole, so that copies of a map may share
    /// them; by the tags, a part of each name's hash, a name is found without looking at others.
    struct Leaf {
        std::vector<std::uint32_t> tags;
        std::vector<std::shared_ptr<const DefinitionEntry>> entries;
    };
    struct Hashed {
        std::size_t leaf;
        std::uint32_t tag;
    };
    static constexpr std::size_t kAllLeaves = kBuckets * kLeaves;

    [[nodiscard]] static Hashed hashed(std::string_view name);
    [[nodiscard]] static std::size_t known_place(const Leaf& leaf, std::uint32_t tag,
                                                 std::string_view name);
    void add_hash(std::size_t leaf, std::uint64_t hash);
    void insert(Hashed at, DefinitionEntry entry);
    void replace(std::size_t leaf, std::size_t place, DefinitionEntry entry);
    void erase(std::size_t leaf, std::size_t place);
    void note(std::size_t leaf, const DefinitionEntry& entry);
    void unnote(std::size_t leaf, const DefinitionEntry& entry);
    void note_writer(const Version& version);

    std::size_t maximum_;
    std::size_t size_ = 0;
    std::vector<Leaf> leaves_ = std::vector<Leaf>(kAllLeaves);
    std::set<std::pair<Instant, std::string>> deadlines_;  // of entries with a lifetime
    std::map<std::uint64_t, std::uint64_t> writers_;       // writer, highest epoch
    std::uint64_t highest_epoch_ = 0;
    std::uint64_t root_ = 0;
    Hashes buckets_{};
    std::vector<std::uint64_t> leaf_hashes_ = std::vector<std::uint64_t>(kAllLeaves);
    std::size_t forget_leaf_ = 0;  // where forget_old() goes on
    std::string forget_after_;
};

}  // namespace weir::definitions
