#pragma once
// The live instances of each definition, by the definition's index. Of a million definitions most
// have no instance for most of the time, so there is memory only for those that have, in chunks of
// neighbouring indices.
//
// Thread-safety: none; every function needs the creation lock, like everything that it holds.
// Ownership: owns the chunks. A chunk stays once it was made, and its members do not move.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"

namespace weir::limiter {

/// The live instances of one definition. They form a ring (InstanceInfo), in which a search for
/// room goes on where the last one ended.
struct Members {
    std::uint32_t hand = 0;  // the instance at which the next search begins; 0 = the ring is empty
    std::uint32_t live = 0;
    /// For a template, the index of the definition of its overflow instances.
    std::uint32_t overflow_definition = 0;
    std::uint32_t overflow_instance = 0;  // 0 until it is made, when it is first needed
    /// Its rank in SizeRanks, with its two neighbours in the ring of that rank.
    std::uint32_t rank = 0;
    std::uint32_t rank_previous = 0;
    std::uint32_t rank_next = 0;
};

class MembersTable {
  public:
    /// Makes the table large enough for this index.
    void reach(std::uint32_t definition) {
        if (definition >= size_) {
            size_ = std::size_t{definition} + 1;
            chunks_.resize((size_ + kChunk - 1) / kChunk);
        }
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    /// The members of this definition, to be changed; makes memory for them.
    [[nodiscard]] Members& operator[](std::uint32_t definition) {
        WEIR_ASSERT(definition < size_);
        std::unique_ptr<Chunk>& chunk = chunks_[definition / kChunk];
        if (chunk == nullptr) {
            chunk = std::make_unique<Chunk>();
            ++made_;
        }
        return (*chunk)[definition % kChunk];
    }
    /// The same, to be read only.
    [[nodiscard]] const Members& operator[](std::uint32_t definition) const {
        static constexpr Members kNone;
        WEIR_ASSERT(definition < size_);
        const std::unique_ptr<Chunk>& chunk = chunks_[definition / kChunk];
        return chunk == nullptr ? kNone : (*chunk)[definition % kChunk];
    }
    [[nodiscard]] std::size_t bytes() const {
        return made_ * sizeof(Chunk) + chunks_.capacity() * sizeof(chunks_[0]);
    }

  private:
    static constexpr std::size_t kChunk = 64;
    using Chunk = std::array<Members, kChunk>;

    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::size_t size_ = 0;
    std::size_t made_ = 0;
};

}  // namespace weir::limiter
