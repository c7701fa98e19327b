#pragma once
// A definition as check() needs it: patterns parsed, borders resolved, limits numbered. A
// CompiledDefinition is immutable. An edit makes a new one, which takes the old one's place in the
// DefinitionTable. The old one is freed when no thread can see it any more.
//
// A set of a million definitions has a few different limits and options. So what is compiled of
// these, the terms, is shared by all definitions that have the same (terms_pool.h), and a
// definition itself has little more than its name.
//
// Thread-safety: any thread may read a CompiledDefinition. For the table see DefinitionTable.
// Ownership: the DefinitionTable owns the definitions in it, and these share their terms.
// Invariant: no two limits of one definition, former ones included, have the same identity.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "limiter/definition.h"
#include "limiter/name_pattern.h"
#include "limiter/shared_text.h"
#include "limiter/window_schedule.h"

namespace weir::limiter {

/// An overflow instance allows this many times its template's limits.
inline constexpr double kOverflowFactor = 10;

/// The value of CompiledTerms::enforced_below with which every key is enforced.
inline constexpr std::uint64_t kAllKeys = ~std::uint64_t{0};

/// One limit with its borders resolved. Amounts are in its unit, rates per second.
struct CompiledLimit {
    LimitParameters parameters;
    double inverse_low = 0;  // 1/low; 0 when low is 0
    double amount = 0;
    Duration period{};
    LimitKind kind = LimitKind::rate;
    Unit unit = Unit::requests;
    bool fleet = true;  // all sidecars share its level (Scope::fleet)
    /// check_quickly() may judge this limit: it is not 0, its debt is the default, weights are
    /// known before the decision (it does not count response bytes), and it is a rate.
    bool quick = false;
    std::uint8_t identity = 0;  // tells the records of one instance apart: see compile_terms()
    /// True: while the limit is isolated, `safe` holds instead of it or, if there is no `safe`,
    /// everything is refused.
    bool special_when_isolated = false;
    /// The safe capacity of an isolated limit, as a limit of its own; null if there is none.
    std::unique_ptr<const CompiledLimit> safe;
    /// When the windows of such a limit begin and end; null for other kinds.
    std::shared_ptr<const WindowSchedule> windows;
    /// Whether the limit refuses everything while it is isolated.
    [[nodiscard]] bool refuses_when_isolated() const { return special_when_isolated && !safe; }
};

/// A limit that an edit took away. Its records stay, in case another edit brings it back.
struct FormerLimit {
    LimitKind kind = LimitKind::rate;
    Unit unit = Unit::requests;
    Duration period{};
    std::uint8_t identity = 0;
    friend bool operator==(const FormerLimit&, const FormerLimit&) = default;
};

/// What definitions with equal limits and options have in common. It counts the definitions that
/// share it, so that each needs no more than a pointer to it.
struct CompiledTerms : boost::intrusive_ref_counter<CompiledTerms, boost::thread_safe_counter> {
    /// The definition without its name and its parent.
    QuotaDefinition source;
    std::vector<CompiledLimit> limits;
    /// Limits that the definition had before, the newest first, at most kMaxFormer.
    std::vector<FormerLimit> former;
    /// Keys whose hash is below this are enforced; the others are shadowed.
    std::uint64_t enforced_below = kAllKeys;
    bool quick = false;        // enforced for all keys, all limits quick: see check_quickly()
    bool refuses_all = false;  // one of its limits is 0
    bool overflow = false;  // of a template's overflow instances: its limits times kOverflowFactor
    /// It was numbered without a definition before it.
    bool first = false;

    /// The limit of this kind, unit and period, or null.
    [[nodiscard]] const CompiledLimit* find(LimitKind kind, Unit unit, Duration period) const;
    /// Whether a limit or a former limit is of this kind, unit and period.
    [[nodiscard]] bool knows(LimitKind kind, Unit unit, Duration period) const;
    /// Whether a former limit has this identity.
    [[nodiscard]] bool was_former(std::uint8_t identity) const {
        return std::any_of(former.begin(), former.end(), [identity](const FormerLimit& limit) {
            return limit.identity == identity;
        });
    }
};

using SharedTerms = boost::intrusive_ptr<const CompiledTerms>;

/// The name of a template and the text of its parent, parsed.
struct TemplatePatterns {
    NamePattern name;
    std::optional<NamePattern> parent;
};

/// One definition as check() reads it. It never changes, apart from `overflow_instance` and `full`.
/// Its name stands behind it in the same block of memory, and make() makes it.
struct CompiledDefinition {
    [[nodiscard]] static std::unique_ptr<CompiledDefinition> make(std::string_view name,
                                                                  SharedText parent,
                                                                  SharedTerms terms);
    CompiledDefinition(const CompiledDefinition&) = delete;
    CompiledDefinition& operator=(const CompiledDefinition&) = delete;
    ~CompiledDefinition() = default;
    /// Without a size, because the block is longer than sizeof(CompiledDefinition).
    static void operator delete(void* memory) { ::operator delete(memory); }

    [[nodiscard]] std::string_view name() const {
        return {reinterpret_cast<const char*>(this + 1), name_size};
    }

    const SharedText parent;                           // its text; empty = it has none
    std::unique_ptr<const TemplatePatterns> patterns;  // of a template; null for an exact name
    const SharedTerms terms;
    // What a decision reads of the terms is here as well, so that it waits for memory once less.
    const QuotaDefinition& source;                // of the terms: without name and parent
    const std::span<const CompiledLimit> limits;  // of the terms
    const std::uint16_t name_size;
    const Mode mode;
    const bool has_captures;
    const bool quick : 1;  // of the terms, as what follows
    const bool refuses_all : 1;
    const bool overflow : 1;
    /// Whether there was no room for its latest new instance.
    mutable std::atomic<bool> full{false};
    /// Whether there are templates below it, by their definitions.
    mutable std::atomic<bool> parents_templates{false};
    std::uint32_t statistics = 0;  // the slot of its figures (figures.h)
    /// The overflow instance of a template, for workers that cannot wait until another instance is
    /// made.
    mutable std::atomic<std::uint32_t> overflow_instance{0};

    /// Whether it divides what it refuses fairly among its children. `child` is the definition of
    /// the instance below it that a request came through, or null.
    [[nodiscard]] bool is_fair(const CompiledDefinition* child) const {
        return source.options->fair.value_or(parents_templates.load(std::memory_order_relaxed) ||
                                             (child != nullptr && child->has_captures));
    }
    /// The name of the parent of the instance that has this name. The definition must have a
    /// parent.
    [[nodiscard]] std::string parent_of(std::string_view instance) const;
    /// The definition as it was given.
    [[nodiscard]] QuotaDefinition definition() const;
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
    /// The limit of this kind, unit and period, or null.
    [[nodiscard]] const CompiledLimit* find(LimitKind kind, Unit unit, Duration period) const {
        return terms->find(kind, unit, period);
    }
    /// Whether a former limit has this identity.
    [[nodiscard]] bool was_former(std::uint8_t identity) const {
        return terms->was_former(identity);
    }

  private:
    struct Room {
        std::uint16_t bytes;  // of the name
    };
    CompiledDefinition(Room room, bool captures, SharedText parent_text, SharedTerms own_terms);
    static void* operator new(std::size_t size, Room room) {
        return ::operator new(size + room.bytes);
    }
    static void operator delete(void* memory, Room) { ::operator delete(memory); }
};

/// Former limits that a definition remembers: at least as many as one edit can take away.
inline constexpr std::size_t kMaxFormer = kMaxLimitsPerQuota;

/// Compiles the terms of a definition, which must be valid; its name and parent do not matter. Each
/// limit gets an identity: a number of one byte by which the instances of this definition know its
/// records. Identities differ within one definition only. A limit keeps the one that it has in
/// `before`, the terms that these replace (or null), even when an edit took the limit away and
/// another brings it back. The identity of a new limit is chosen from a hash of kind, unit and
/// period, so that an instance that moves to another definition mostly finds the same identities
/// there.
[[nodiscard]] SharedTerms compile_terms(QuotaDefinition definition, const CompiledTerms* before,
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
