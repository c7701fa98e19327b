#pragma once
// The owner's side of quiet limits: what the first owner of a shard was told of limits that are far
// below their limit, as one sum a limit (quiet_share.h has the laws), and by whom, so that it can
// wake them. Belongs to the control thread; owned by the Owner.
//
// Invariants: there are at most maximum_owned_limits sums, and of one limit at most
// maximum_cells_per_limit origins. Within a run what an origin has told never falls. A sum keeps
// its slot for as long as it lives, because origins name it by the slot's number.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "base/mapped_memory.h"
#include "base/random.h"
#include "limiter/laws.h"
#include "membership/owners.h"
#include "sync/messages.h"
#include "sync/quiet_share.h"
#include "sync/settings.h"
#include "sync/silence.h"
#include "sync/slot_index.h"
#include "sync/statistics.h"

namespace weir::sync {

/// Who hands sums over.
enum class HandedBy : std::uint8_t {
    former_owner,    ///< the former first owner
    own_snapshot,    ///< this member, before it was restarted
    other_snapshot,  ///< another member, which may have been an owner before it was restarted
};

/// What one origin has told of a quiet limit. Rates and estimates are single precision, because
/// entries tell rates with 17 bits, and there may be millions of cells.
struct QuietCell {
    double admitted = 0;
    Instant told_at{};
    MemberNumber member = 0;
    std::uint32_t run = 0;
    float limit_rate = 0;  // the limit's parameters as it told them; both 0: not yet
    float low = 0;
    float rate = 0;           // as told
    float steady = 0;         // the weight per second that its entries show, averaged over seconds
    float expected = 0;       // weight that it is expected to have admitted since its last entry
    bool no_room = false;     // it cannot wake the limit (QuietEntry::no_room)
    std::uint8_t orders = 0;  // how often it was ordered to wake in vain
};
static_assert(sizeof(QuietCell) == 48);

struct QuietTold {
    LimitKey key;
    /// The limit's parameters: the smallest that its origins told. These may have different
    /// definitions for a moment, and who is right cannot be known here. To wake too soon costs some
    /// messages. 0: not told yet.
    float rate = 0;
    float low = 0;
    QuietSum sum;
    /// What the former first owner handed over, and what it had not confirmed of what origins tell
    /// here. It contains what origins told that are gone, and what those tell again that are not:
    /// the larger of the two sums counts.
    QuietSum handed;
    /// When the sums began, and whether a former first owner has handed over since, or what this
    /// member had on its disk was added.
    Instant began_at{};
    /// The number by which origins may name the limit in their entries, for as long as the sum
    /// stays; never 0 while it lives.
    std::uint32_t place = 0;
    bool handed_over = false;
    /// What was handed over from here last, for a new first owner that asks for it: `sum` and, as
    /// `full`, the level. Both 0: nothing.
    struct {
        float sum = 0;
        float full = 0;
    } given;
    Instant advanced{};  // the time for which the sums hold
    Instant told_at{};
    /// A cell for each origin. Most limits that are far below their limit have one, which lies
    /// here.
    boost::container::small_vector<QuietCell, 1> cells;

    [[nodiscard]] QuietCell* find(MemberNumber member);
    /// Takes rate and low from the cell that is told of now, and from those that were told of
    /// within `memory`.
    void take_parameters(MemberNumber teller, Duration memory, Instant now);
    /// Takes these for what no origin has told yet.
    void learn_parameters(const limiter::LimitParameters& parameters);
    /// Brings the sum to `now`. `shares` is shares_among().
    void advance(double shares, Instant now);
    /// The level that the limit has when it is woken now, at the time of the last advance(). What
    /// an origin is only expected to have admitted counts as far as the origin will not tell it
    /// itself. Some of it is chance: that much does not count, so that nothing is refused that has
    /// room.
    [[nodiscard]] double level() const;
    /// How much does not count of what the origin of this cell is expected to have admitted.
    [[nodiscard]] double uncounted(const QuietCell& cell) const;
    /// Takes the origin's cell out, and with it what does not count, so that the level stays the
    /// same at the time of the last advance().
    void forget(const QuietCell& cell);
    /// What bounds the fleet's bucket, beside the shares of origins.
    [[nodiscard]] double bound() const { return std::max(sum.sum, handed.sum); }
    void clear() {
        sum.clear();
        handed.clear();
    }
    /// Takes out the cells for which `gone` is true.
    template <class Gone>
    void drop_cells(Gone gone) {
        cells.erase(std::remove_if(cells.begin(), cells.end(), gone), cells.end());
    }
    /// Sums that have drained begin anew with what is told now.
    void begin_if_empty(Instant now);
    /// The sums go to another first owner. They are not added here when the limit wakes.
    void give();
    /// The rates that were told lately, added up.
    [[nodiscard]] double rates(Instant now) const;
};
static_assert(sizeof(QuietTold) == 3 * 64);

class QuietSums {
  public:
    QuietSums(const SyncSettings& settings, SyncStatistics& statistics, Random random)
        : settings_(settings), statistics_(statistics), by_key_(random) {}

    /// Says among how many members the limits are divided (quiet_share.h).
    void set_shares(double shares) { shares_ = shares; }
    [[nodiscard]] double shares() const { return shares_; }
    /// Takes the entry into its origin's cell and into the sum. nullptr when there is no room for
    /// it.
    [[nodiscard]] QuietTold* receive(MemberNumber from, const QuietEntry& entry, Instant now);
    /// Takes what the former first owner of a limit hands over, or what a snapshot has of it. To
    /// take it twice changes nothing. nullptr when there is no room.
    QuietTold* take_over(const QuietOrder& order, HandedBy who, Instant now);
    /// Visits the limits of some shards, a bit each, brought to `now`.
    template <class Visit>
    void for_each_in_shards(std::uint16_t shards, Instant now, Visit visit) {
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            QuietTold& told = slots_[slot];
            const membership::Shard shard = membership::shard_of(told.key.quota);
            if (told.place != 0 && (shards & membership::bit_of(shard)) != 0) {
                told.advance(shares_, now);
                visit(told);
            }
        }
    }
    /// Makes a cell for the origin of an entry that is not taken in, because the limit is awake.
    /// nullptr when there is no room for it.
    [[nodiscard]] const QuietCell* note_asleep(MemberNumber from, const QuietEntry& entry,
                                               Instant now);
    /// Takes the entry of an origin that cannot wake the limit into its cell. Returns the weight
    /// that is new, drained at the full rate; nothing when there is no room for the cell.
    [[nodiscard]] std::optional<double> receive_beside(MemberNumber from, const QuietEntry& entry,
                                                       Instant now);
    [[nodiscard]] QuietTold* find(const LimitKey& key);
    /// Sets the key of an entry that has a place. False when this origin has not told of this run
    /// there: what the place belongs to may have changed.
    [[nodiscard]] bool find_place(MemberNumber from, QuietEntry& entry);
    /// What was told of the limit with this slot, below slots(); null if none has it.
    [[nodiscard]] QuietTold* at(std::uint32_t slot) {
        QuietTold& told = slots_[slot];
        WEIR_ASSERT(told.place == 0 || told.place == slot + 1);
        return told.place != 0 ? &told : nullptr;
    }
    [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
    /// Whether some origins told of this limit as a quiet one, and not yet as an awake one,
    /// although it was woken.
    [[nodiscard]] bool is_asleep(const LimitKey& key);
    void remove(const LimitKey& key);
    /// The shard is not owned here any more.
    void drop_shard(membership::Shard shard);
    /// These members are gone. What they are expected to have admitted up to now goes on counting,
    /// as far as level() counts it.
    void expect_no_more(const std::vector<MemberNumber>& members, Instant now);
    /// These members are gone for good.
    void forget(const std::vector<MemberNumber>& members, Instant now);
    /// Forgets what has drained and was not told of for long, a bounded part in each call.
    void sweep(Instant now);
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }

  private:
    [[nodiscard]] std::optional<std::uint32_t> slot_of(const LimitKey& key) const;
    [[nodiscard]] QuietTold* obtain(const LimitKey& key, Instant now);
    [[nodiscard]] QuietCell* obtain_cell(QuietTold& told, MemberNumber from, Instant now);
    [[nodiscard]] bool may_go(const QuietTold& told, Instant now) const;
    void remove_slot(std::uint32_t slot);

    const SyncSettings& settings_;
    SyncStatistics& statistics_;
    double shares_ = 1;
    ChunkedVector<QuietTold> slots_;
    std::vector<std::uint32_t> free_;
    SlotIndex by_key_;
    std::size_t sweep_at_ = 0;
};

}  // namespace weir::sync
