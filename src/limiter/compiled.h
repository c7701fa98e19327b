#pragma once
// Definitions as check() wants them. A CompiledDefinition is immutable: an edit makes a new one,
// which takes the old one's place in the DefinitionTable; the old one is freed when no thread can
// still see it.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "limiter/definition.h"
#include "limiter/name_pattern.h"

namespace weir::limiter {

/// An overflow instance allows this many times its template's limits.
inline constexpr double kOverflowFactor = 10;

struct CompiledLimit {
    LimitParameters parameters;
    double inverse_low = 0;
    double amount = 0;
    Duration period{};
    Unit unit = Unit::requests;
    bool fleet = true;
    std::uint8_t identity = 0;  // of (unit, period), process-wide
};

struct CompiledDefinition {
    QuotaDefinition source;
    NamePattern pattern;
    std::optional<NamePattern> parent;
    std::vector<CompiledLimit> limits;
    Mode mode = Mode::enforce;
    bool has_captures = false;
    bool overflow = false;  // of a template: its limits times kOverflowFactor
    std::uint32_t statistics = 0;
    /// Of a template: its overflow instance, for workers that cannot wait to make another.
    mutable std::atomic<std::uint32_t> overflow_instance{0};

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
};

/// Numbers for (unit, period), never reused: 254 different ones in one process.
class IdentityTable {
  public:
    static constexpr std::size_t kMaxIdentities = 254;
    /// Nothing when the table is full.
    [[nodiscard]] std::optional<std::uint8_t> intern(Unit unit, Duration period);
    [[nodiscard]] std::optional<std::uint8_t> find(Unit unit, Duration period) const;
    [[nodiscard]] std::size_t size() const { return identities_.size(); }

  private:
    std::vector<std::pair<Unit, Duration>> identities_;
};

/// The definition must be valid and its identities must fit (see validate and intern).
[[nodiscard]] std::unique_ptr<CompiledDefinition> compile(const QuotaDefinition& definition,
                                                          IdentityTable& identities, bool overflow);

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
    void free(std::uint32_t index) { free_.push_back(index); }
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
