#pragma once
// The definitions, ordered by how many live instances they have, so that one with the most
// instances is found without looking at all definitions. There is a ring of definitions for each
// power of two. Exact names, each of which has at most one instance, share a ring of their own.
// Owns nothing; every function needs the creation lock, like everything that it links.

#include <array>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "limiter/members_table.h"

namespace weir::limiter {

class SizeRanks {
  public:
    static constexpr std::uint32_t kNone = 0;
    /// The rank of a template is 1 + the number of the highest bit of its count of instances, which
    /// is below 2^24.
    static constexpr std::uint32_t kLargest = 24;
    static constexpr std::uint32_t kExact = kLargest + 1;

    [[nodiscard]] static std::uint32_t of_template(std::uint32_t live) {
        return static_cast<std::uint32_t>(std::bit_width(live));
    }

    explicit SizeRanks(MembersTable& members) : members_(members) {}

    /// Moves the definition into the ring of this rank; kNone takes it out of all rings.
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
    /// The definition of this rank whose turn it is; 0 = no definition has this rank.
    [[nodiscard]] std::uint32_t hand(std::uint32_t rank) const { return hands_[rank]; }
    /// The same, and afterwards it is the turn of the next definition in the ring.
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

    MembersTable& members_;
    std::array<std::uint32_t, kExact + 1> hands_{};
};

}  // namespace weir::limiter
