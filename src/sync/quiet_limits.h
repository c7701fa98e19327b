#pragma once
// The origin's side of quiet limits: which limits in use here are so far below their limit that
// nobody has to know of them in detail, and what of them is told to their first owners when
// (quiet_share.h has the laws). A limit that must not be quiet any more is taken out and becomes a
// SyncedLimit. A tick looks at the limits for which something is due, and in turn at a few others,
// to drop those that are not used any more. Belongs to the control thread. Borrows settings,
// limiter and statistics, and the ledger if there is one.
//
// Invariants: there are at most maximum_quiet_limits entries; of one limit the Reporter has a
// SyncedLimit, or this table has an entry, never both. Slots have no gaps: when an entry is
// removed, the last one takes its slot, so that memory that is not needed any more is given back.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mapped_memory.h"
#include "base/random.h"
#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/due_queue.h"
#include "sync/falling_rate.h"
#include "sync/messages.h"
#include "sync/quiet_share.h"
#include "sync/run_number.h"
#include "sync/settings.h"
#include "sync/slot_index.h"
#include "sync/statistics.h"
#include "sync/weight_ledger.h"

namespace weir::sync {

/// One limit that is quiet here.
struct QuietLimit {
    LimitKey key;
    limiter::LimitRef ref;
    std::uint32_t run = 0;
    double rate = 0;  // the limit's parameters, as far as they are needed here
    double low = 0;
    QuietShare share;
    double offered_rate = 0;
    double typical = 1;             // the running mean of admitted weights
    double quick_rate = 0;          // admitted weight per second, over kQuickWindow
    double sent = 0;                // what the last entry told of `share.admitted`
    std::uint32_t owner_place = 0;  // where the owner has it (QuietEntry::place); 0: not known
    Instant touched{};
    Instant counted{};       // when the limiter's counts were last taken in
    Instant told_at{};       // when the owner's last confirmation came
    Instant sent_at{};       // when the last entry was sent
    std::uint8_t tries = 0;  // entries in a row that were not confirmed
    bool known = false;      // the present owner has confirmed rate and `low`
    bool leaves = false;     // its place is wanted: what the owner does not know is told first
    bool no_room = false;    // it cannot wake: no room among those awake, or this member leaves
    bool again = false;      // its first use was told at once: what follows is told soon
    bool unviewed = false;   // when it was taken, the limiter had no view of it
};

/// Sends entries to owners, one of which may be this member itself.
class QuietSink {
  public:
    virtual ~QuietSink() = default;
    virtual void send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) = 0;
    /// Whether an entry may be sent to this owner now. Urgent: the share is full.
    [[nodiscard]] virtual bool has_room_for_quiet(const gossip::MemberId& /*owner*/,
                                                  bool /*urgent*/) {
        return true;
    }
    /// For how long at least an entry waits for this owner's confirmation before it is sent again.
    [[nodiscard]] virtual Duration quiet_answer_wait(const gossip::MemberId& /*owner*/) {
        return Duration::zero();
    }
};

class QuietLimits {
  public:
    QuietLimits(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
                SyncStatistics& statistics, WeightLedger* ledger = nullptr);

    /// How many members there are, this one included. The largest number of the last minute counts.
    void set_members(std::size_t count, Instant now);

    /// Whether this limit is quiet here; if so, takes in what was counted since the last call.
    bool touch(limiter::LimitRef ref, Instant now);
    /// Begins with a limit that was not used here lately. False when there is no room for it.
    bool meet(limiter::LimitRef ref, const LimitKey& key,
              const limiter::LimitParameters& parameters, Instant now);
    /// Whether one limit more can be added. When the table is full, it first drops an entry that is
    /// not used, and of which the owner has been told everything.
    [[nodiscard]] bool has_room(Instant now);
    /// Begins with a limit that has been awake here; its owners know all that was counted. To be
    /// called when there is room for it.
    void fall_quiet(limiter::LimitRef ref, const LimitKey& key,
                    const limiter::LimitParameters& parameters, Instant now);
    /// Whether the limit was forgotten when its owner knew what had not drained, and was not in the
    /// table since. Then meet() counts only what is new.
    [[nodiscard]] bool was_dismissed(const limiter::LimitRef& ref) const;
    /// Takes a limit out, because it is quiet no more, with what was counted up to now. Nothing if
    /// there is none.
    [[nodiscard]] std::optional<QuietLimit> take(const LimitKey& key, Instant now);

    /// Sends what is due. `has_to_wake` receives the limits whose first owner does not answer and
    /// whose share is full: all owners have to be asked.
    void tick(const membership::Owners& owners, Instant now, QuietSink& sink,
              std::vector<LimitKey>& has_to_wake);
    /// The limit should wake, but the Reporter has no room for it. It stays quiet, and its entries
    /// say so (`no_room`), because of other entries an owner takes nothing in for an awake limit.
    void stay(const LimitKey& key, Instant now);
    /// The owner has taken in what was told of this run, and has it at this place. It knows the
    /// limit if that was told, too.
    void acknowledge(const QuietSaid& said, Instant now);
    /// A former first owner has taken in what was told of this run, and hands it over to the
    /// present one.
    void acknowledge_former(const QuietSaid& said, Instant now);
    /// The owner has not taken this in. If it was told by the owner's place, all is told again.
    void forget_place(const QuietSaid& said, Instant now);
    /// These shards (one bit for each) have other first owners: they are told within half a second
    /// what has not drained.
    void owners_changed(std::uint16_t shards, Instant now);
    /// Tells all that has not drained and no owner has confirmed. To be called on leaving.
    void tell_all(const membership::Owners& owners, Instant now, QuietSink& sink);
    /// Definitions have changed: reads all parameters again.
    void refresh_parameters(Instant now);
    /// The limiter has reused records for other limits: drops what is kept for the earlier limits.
    void drop_changed();

    [[nodiscard]] const QuietLimit* find(const LimitKey& key) const;
    [[nodiscard]] std::size_t size() const { return slots_.size(); }
    /// The bytes that this table has from the system, of which some may not be in use. For tests.
    [[nodiscard]] std::size_t memory() const;
    [[nodiscard]] double shares() const { return shares_among(members_); }

  private:
    /// What is left of a limit that was dismissed and was not met again since, by its record.
    struct Dismissed {
        /// Of the record's generation, because another limit may have the record by now; 0: none.
        std::uint8_t tag = 0;
        std::uint8_t own = 0;  // what was forgotten of it (QuietShare::own), as a part of `low`
    };
    /// Fewer requests than this between two looks are never taken for a leap of the load.
    static constexpr double kLeapRequests = 4;
    // In quiet_telling.cpp.
    void plan(std::uint32_t slot, double before, Instant now);
    [[nodiscard]] static bool has_room(const QuietLimit& limit, bool urgent,
                                       const membership::Owners& owners, QuietSink& sink);
    [[nodiscard]] bool waits_for_answer(std::uint32_t slot, const membership::Owners& owners,
                                        Instant now, QuietSink& sink);
    /// After how long an entry is sent again that was not confirmed: the owner's answer may wait.
    [[nodiscard]] static Duration wait_for_answer(const QuietLimit& limit,
                                                  const gossip::MemberId& owner, QuietSink& sink);
    void tell(std::uint32_t slot, const membership::Owners& owners, Instant now, QuietSink& sink);
    [[nodiscard]] QuietEntry entry_of(const QuietLimit& limit) const;
    [[nodiscard]] std::optional<std::uint32_t> slot_of_run(const LimitKey& key,
                                                           std::uint32_t run) const;
    // In quiet_limits.cpp.
    [[nodiscard]] std::optional<std::uint32_t> slot_of(const LimitKey& key) const;
    [[nodiscard]] std::optional<std::uint32_t> slot_of(std::uint32_t record) const;
    /// Says that this slot has the limit with its record.
    void claim_record(std::uint32_t slot);
    void release_record(std::uint32_t slot);
    /// Adds a limit that is not in the table, in which there is room.
    [[nodiscard]] std::uint32_t place(const LimitKey& key);
    [[nodiscard]] bool make_room(Instant now);
    [[nodiscard]] limiter::UnviewedCounts first_counts(QuietLimit& limit,
                                                       limiter::UnviewedCounts counts,
                                                       Instant now) const;
    void count(QuietLimit& limit, const limiter::UnviewedCounts& counts, Instant now);
    void begin_run(QuietLimit& limit);
    /// Whether the present owner knows all of it that has not drained. To a new one all is news.
    [[nodiscard]] static bool all_told(const QuietLimit& limit) {
        return limit.share.untold <= 0 ||
               (limit.known && limit.share.admitted <= limit.share.acknowledged);
    }
    /// Whether nothing is lost when the limit is forgotten: the owner knows all of it, and counts
    /// nothing that was given back.
    [[nodiscard]] static bool may_be_dismissed(const QuietLimit& limit) {
        return all_told(limit) && limit.share.excess <= 0;
    }
    [[nodiscard]] bool may_go(QuietLimit& limit, Instant now) const;
    void remove(std::uint32_t slot);
    /// Removes a limit of which all is told. If it is used again, it begins with what is new.
    void dismiss(std::uint32_t slot);
    void sweep(Instant now);

    const SyncSettings& settings_;
    limiter::Limiter& limiter_;
    Random random_;
    RunNumbers runs_;
    SyncStatistics& statistics_;
    WeightLedger* ledger_;

    ChunkedVector<QuietLimit> slots_;
    SlotIndex by_key_;
    SlotIndex by_record_;                // by the number of the limiter's record
    MappedVector<Dismissed> dismissed_;  // by that number
    DueQueue due_;                       // when something may have to be told of a limit
    std::size_t members_ = 1;
    std::size_t members_before_ = 1;  // the largest number in the half minute before
    std::size_t members_now_ = 1;     // and in the present one
    Instant half_minute_{};
    Instant previous_tick_{};
    std::size_t room_at_ = 0;     // the slot that was looked at last to make room
    std::size_t sweep_at_ = 0;    // the slot that is looked at next
    std::size_t sweep_size_ = 0;  // how many there have been in this round at most
    double sweep_due_ = 0;        // limits, or a part of one, that are to be looked at in the sweep
};

}  // namespace weir::sync
