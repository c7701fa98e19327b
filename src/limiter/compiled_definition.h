#pragma once
// A definition as check() needs it: patterns parsed, borders resolved, limits numbered. A
// CompiledDefinition is immutable. An edit makes a new one, which takes the old one's place in the
// DefinitionTable. The old one is freed when no thread can see it any more.
//
// Thread-safety: any thread may read a CompiledDefinition. For the table see DefinitionTable.
// Ownership: the DefinitionTable owns the definitions in it.
// Invariant: no two limits of one definition, former ones included, have the same identity.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "limiter/definition.h"
#include "limiter/name_pattern.h"

namespace weir::limiter {

/// An overflow instance allows this many times its template's limits.
inline constexpr double kOverflowFactor = 10;

/// The value of CompiledDefinition::enforced_below with which every key is enforced.
inline constexpr std::uint64_t kAllKeys = ~std::uint64_t{0};

/// One limit with its borders resolved. Amounts are in its unit, rates per second.
struct CompiledLimit {
    LimitParameters parameters;
    double inverse_low = 0;  // 1/low; 0 when low is 0
    double amount = 0;
    Duration period{};
    Unit unit = Unit::requests;
    bool fleet = true;  // all sidecars share its level (Scope::fleet)
    /// check_quickly() may judge this limit: it is not 0, its debt is the default, and weights are
    /// known before the decision (it does not count response bytes).
    bool quick = false;
    std::uint8_t identity = 0;  // tells the records of one instance apart: see compile()
    bool fresh = false;         // the identity is new or meant another (unit, period) before
    /// True: while the limit is isolated, `safe` holds instead of it or, if there is no `safe`,
    /// everything is refused.
    bool special_when_isolated = false;
    /// The safe capacity of an isolated limit, as a limit of its own; null if there is none.
    std::unique_ptr<const CompiledLimit> safe;
    /// Whether the limit refuses everything while it is isolated.
    [[nodiscard]] bool refuses_when_isolated() const { return special_when_isolated && !safe; }
};

/// A limit that an edit took away. Its records stay, in case another edit brings it back.
struct FormerLimit {
    Unit unit = Unit::requests;
    Duration period{};
    std::uint8_t identity = 0;
};

/// One definition as check() reads it. It never changes, apart from `overflow_instance` and `full`.
struct CompiledDefinition {
    QuotaDefinition source;
    NamePattern pattern;
    std::optional<NamePattern> parent;
    std::vector<CompiledLimit> limits;
    Mode mode = Mode::enforce;
    /// Keys whose hash is below this are enforced; the others are shadowed.
    std::uint64_t enforced_below = kAllKeys;
    bool has_captures = false;
    bool quick = false;        // enforced for all keys, all limits quick: see check_quickly()
    bool refuses_all = false;  // one of its limits is 0
    bool overflow = false;  // of a template's overflow instances: its limits times kOverflowFactor
    std::uint32_t statistics = 0;  // the slot of its figures (figures.h)
    /// The overflow instance of a template, for workers that cannot wait until another instance is
    /// made.
    mutable std::atomic<std::uint32_t> overflow_instance{0};
    /// Whether there was no room for its latest new instance.
    mutable std::atomic<bool> full{false};
    /// Limits that the definition had before, the newest first, at most kMaxFormer; null if there
    /// are none.
    std::unique_ptr<const std::vector<FormerLimit>> former;

    /// The limit of this identity, or null. `hint` is the index at which it probably lies: edits of
    /// definitions may have moved it.
    [[nodiscard]] const CompiledLimit* find(std::uint8_t identity, std::size_t hint) const {
        const CompiledLimit* const guess = limits.data() + hint;
        if (guess < limits.data() + limits.size() && guess->identity == identity) [[likely]] {
            return guess;
        }
        for (const CompiledLimit& limit : limits) {
            if (limit.identity == identity) {
                return &limit;
            }
        }
        return nullptr;
    }
    /// The limit of this unit and period, or null.
    [[nodiscard]] const CompiledLimit* find(Unit unit, Duration period) const;
    /// Whether a former limit has this identity.
    [[nodiscard]] bool was_former(std::uint8_t identity) const {
        return former != nullptr &&
               std::any_of(former->begin(), former->end(), [identity](const FormerLimit& limit) {
                   return limit.identity == identity;
               });
    }
};

/// Former limits that a definition remembers: at least as many as one edit can take away.
inline constexpr std::size_t kMaxFormer = kMaxLimitsPerQuota;

/// Compiles a definition, which must be valid. Each limit gets an identity: a number of one byte by
/// which the instances of this definition know its records. Identities differ within one definition
/// only. A limit keeps the one that it has in `before`, the definition that this one replaces (or
/// null), even when an edit took the limit away and another brings it back. The identity of a new
/// limit is chosen from a hash of (unit, period), so that an instance that moves to another
/// definition mostly finds the same identities there.
[[nodiscard]] std::unique_ptr<CompiledDefinition> compile(const QuotaDefinition& definition,
                                                          const CompiledDefinition* before,
                                                          bool overflow);

/// Definitions by index. The index of a name stays the same while the name is defined. Any thread
/// may call get() inside an Epochs section; everything else is for the control thread.
class DefinitionTable {
  public:
    ~DefinitionTable();
    DefinitionTable() = default;
    DefinitionTable(const DefinitionTable&) = delete;
    DefinitionTable& operator=(const DefinitionTable&) = delete;

    [[nodiscard]] const CompiledDefinition* get(std::uint32_t index) const {
        return chunks_[index / kChunk].load(std::memory_order_acquire)[index % kChunk].load(
            std::memory_order_acquire);
    }
    /// Takes a free index; nothing when the table is full.
    [[nodiscard]] std::optional<std::uint32_t> allocate();
    /// Puts the definition (or null) at the index and returns the one that was there.
    std::unique_ptr<const CompiledDefinition> exchange(
        std::uint32_t index, std::unique_ptr<const CompiledDefinition> definition);
    /// Gives the index, which must be empty, back for allocate().
    void free(std::uint32_t index) {
        WEIR_ASSERT(index < size_ && get(index) == nullptr);
        free_.push_back(index);
    }
    [[nodiscard]] std::uint32_t size() const { return size_; }

  private:
    static constexpr std::size_t kChunk = 4096;
    static constexpr std::size_t kChunks = 2048;  // 8,388,608 definitions with their overflows
    using Entry = std::atomic<const CompiledDefinition*>;

    std::array<std::atomic<Entry*>, kChunks> chunks_{};
    std::vector<std::unique_ptr<Entry[]>> memory_;
    std::vector<std::uint32_t> free_;
    std::uint32_t size_ = 0;
};

}  // namespace weir::limiter
