#pragma once
// A definition as check() needs it: patterns parsed, borders resolved, limits numbered. A
// CompiledDefinition is immutable. An edit makes a new one, which takes the old one's place in the
// DefinitionTable; the old one is freed when no thread can see it any more.
//
// Thread-safety: a CompiledDefinition may be read by any thread; the table says its own.
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

inline constexpr std::uint64_t kAllKeys = ~std::uint64_t{0};

struct CompiledLimit {
    LimitParameters parameters;
    double inverse_low = 0;
    double amount = 0;
    Duration period{};
    Unit unit = Unit::requests;
    bool fleet = true;
    /// Above 0, of default debt, its weights known beforehand: check_quickly() may judge it.
    bool quick = false;
    std::uint8_t identity = 0;  // tells the records of one instance apart: see compile()
    bool fresh = false;         // the identity is new or meant another (unit, period) before
    /// Something else holds while the limit is isolated: `safe`, or everything is refused.
    bool special_when_isolated = false;
    /// The safe capacity as a limit of its own.
    std::unique_ptr<const CompiledLimit> safe;
    [[nodiscard]] bool refuses_when_isolated() const { return special_when_isolated && !safe; }
};

/// A limit that an edit took away: its records stay, for the case that it comes back.
struct FormerLimit {
    Unit unit = Unit::requests;
    Duration period{};
    std::uint8_t identity = 0;
};

struct CompiledDefinition {
    QuotaDefinition source;
    NamePattern pattern;
    std::optional<NamePattern> parent;
    std::vector<CompiledLimit> limits;
    Mode mode = Mode::enforce;
    /// Keys whose hash is below this are enforced; the others are shadowed.
    std::uint64_t enforced_below = kAllKeys;
    bool has_captures = false;
    bool quick = false;     // enforced, and all its limits are quick: see check_quickly()
    bool overflow = false;  // of a template: its limits times kOverflowFactor
    std::uint32_t statistics = 0;
    /// Of a template: its overflow instance, for workers that cannot wait to make another.
    mutable std::atomic<std::uint32_t> overflow_instance{0};
    /// What it had before, the newest first, at most kMaxFormer; null = nothing.
    std::unique_ptr<const std::vector<FormerLimit>> former;

    /// The limit of this identity. `hint` is where it lies unless definitions were edited.
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
    [[nodiscard]] const CompiledLimit* find(Unit unit, Duration period) const;
    /// Whether it was the number of a former limit.
    [[nodiscard]] bool was_former(std::uint8_t identity) const {
        return former != nullptr &&
               std::any_of(former->begin(), former->end(), [identity](const FormerLimit& limit) {
                   return limit.identity == identity;
               });
    }
};

/// Former limits that a definition remembers: at least as many as one edit can take away.
inline constexpr std::size_t kMaxFormer = kMaxLimitsPerQuota;

/// The definition must be valid. Each limit gets a number of one byte, by which the instances of
/// this definition know its records. Numbers are apart within one definition only: a limit keeps
/// the one it has in `before`, the definition whose place this one takes (or null), also when an
/// edit took it away and another brings it back. Others begin at a hash of (unit, period), so that
/// an instance that moves to another definition finds the same ones there most often.
[[nodiscard]] std::unique_ptr<CompiledDefinition> compile(const QuotaDefinition& definition,
                                                          const CompiledDefinition* before,
                                                          bool overflow);

/// Definitions by index; the index of a name stays while the name is defined. get(): any thread
/// inside an Epochs section; the rest: the control thread.
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
    /// A free index, or nothing when the table is full.
    [[nodiscard]] std::optional<std::uint32_t> allocate();
    /// Puts the definition (or nothing) there and returns what was there.
    std::unique_ptr<const CompiledDefinition> exchange(
        std::uint32_t index, std::unique_ptr<const CompiledDefinition> definition);
    /// The index, which is empty, may be allocated again.
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
