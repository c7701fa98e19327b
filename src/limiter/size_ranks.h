#pragma once
// Definitions ordered by how many live instances they have, so that whoever has the most of them is
// found without looking at all: a ring for each power of two. Exact names, which have one at most,
// share a ring of their own. Owns nothing; under the creation lock like all it links.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace weir::limiter {

/// The live instances of one definition: a ring, and a hand that goes round looking for room.
struct Members {
    std::uint32_t hand = 0;  // any member; 0 = none
    std::uint32_t live = 0;
    std::uint32_t overflow_definition = 0;  // of a template
    std::uint32_t overflow_instance = 0;    // made when first needed
    std::uint32_t rank = 0;                 // see SizeRanks, with its two neighbours there
    std::uint32_t rank_previous = 0;
    std::uint32_t rank_next = 0;
};

class SizeRanks {
  public:
    static constexpr std::uint32_t kNone = 0;
    /// Templates: 1 + the highest bit of how many they have, which is below 2^24.
    static constexpr std::uint32_t kLargest = 24;
    static constexpr std::uint32_t kExact = kLargest + 1;

    [[nodiscard]] static std::uint32_t of_template(std::uint32_t live) {
        return static_cast<std::uint32_t>(std::bit_width(live));
    }

    explicit SizeRanks(std::vector<Members>& members) : members_(members) {}

    void move(std::uint32_t definition, std::uint32_t rank) {
        WEIR_ASSERT(definition < members_.size() && rank <= kExact);
        Members& moving = members_[definition];
        if (moving.rank == rank) {
            return;
        }
        if (moving.rank != kNone) {
            unlink(definition, moving);
        }
        moving.rank = rank;
        if (rank != kNone) {
            link(definition, moving);
        }
    }
    /// The definition whose turn it is; 0 = none is of this rank.
    [[nodiscard]] std::uint32_t hand(std::uint32_t rank) const { return hands_[rank]; }
    /// The same, and the next one is then to be asked.
    [[nodiscard]] std::uint32_t take_turn(std::uint32_t rank) {
        const std::uint32_t definition = hands_[rank];
        if (definition != 0) {
            WEIR_ASSERT(members_[definition].rank == rank);
            hands_[rank] = members_[definition].rank_next;
        }
        return definition;
    }

  private:
    void link(std::uint32_t definition, Members& moving) {
        WEIR_ASSERT(definition != 0);  // index 0 is no definition
        std::uint32_t& hand = hands_[moving.rank];
        if (hand == 0) {
            hand = definition;
            moving.rank_previous = moving.rank_next = definition;
            return;
        }
        Members& next = members_[hand];
        moving.rank_next = hand;
        moving.rank_previous = next.rank_previous;
        members_[next.rank_previous].rank_next = definition;
        next.rank_previous = definition;
    }
    void unlink(std::uint32_t definition, const Members& moving) {
        WEIR_ASSERT(members_[moving.rank_previous].rank_next == definition);
        WEIR_ASSERT(members_[moving.rank_next].rank_previous == definition);
        members_[moving.rank_previous].rank_next = moving.rank_next;
        members_[moving.rank_next].rank_previous = moving.rank_previous;
        std::uint32_t& hand = hands_[moving.rank];
        if (hand == definition) {
            hand = moving.rank_next == definition ? 0 : moving.rank_next;
        }
    }

    std::vector<Members>& members_;
    std::array<std::uint32_t, kExact + 1> hands_{};
};

}  // namespace weir::limiter
