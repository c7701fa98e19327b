#pragma once
// The origin's side of the counter synchronisation: which limits are in use here, what is believed
// of each, and which deltas are due to which owner. Its cost depends on the limits with load: the
// others sleep and are not looked at. One that sleeps with a level that matters rests: the limiter
// goes on with what its owners said last. Belongs to the control thread. Owns the QuietLimits.
// Borrows settings, limiter, side and statistics, and the ledger if there is one (the simulator's).
//
// Invariants: there are at most maximum_synced_limits entries. Rounds of deltas to one owner are on
// average at least minimum_interval apart; interval_burst more may follow at once. The first delta
// of a limit is exempt.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/due_queue.h"
#include "sync/hot_table.h"
#include "sync/owner.h"
#include "sync/quiet_limits.h"
#include "sync/run_number.h"
#include "sync/slot_index.h"
#include "sync/statistics.h"
#include "sync/synced_limit.h"

namespace weir::sync {

/// Sends deltas to owners, one of which may be this member itself.
class DeltaSink {
  public:
    virtual ~DeltaSink() = default;
    virtual void send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) = 0;
    /// Whether a delta may be sent to this owner now. What may not is put off: it is sent later
    /// with newer counts.
    [[nodiscard]] virtual bool has_room_for_delta(const gossip::MemberId& /*owner*/,
                                                  bool /*urgent*/) {
        return true;
    }
    /// How long to wait for this owner's answer before anything is said to it again.
    [[nodiscard]] virtual Duration delta_answer_wait(const gossip::MemberId& /*owner*/) {
        return Duration::zero();
    }
    /// Whether an answer that has waited goes to this owner now, so that a delta can ride along.
    [[nodiscard]] virtual bool answer_goes_to(const gossip::MemberId& /*owner*/) { return false; }
};

class Reporter {
  public:
    Reporter(const SyncSettings& settings, limiter::Limiter& limiter, const Side& side,
             QuietLimits& quiet, Random random, SyncStatistics& statistics,
             WeightLedger* ledger = nullptr);

    /// Says who this member is: as an owner it needs no network and no pacing.
    void set_self(const gossip::MemberId& self) { self_ = self; }
    /// Takes in which limits were touched since the last call. To be called before each tick().
    void adopt_touched(Instant now, const membership::Owners& owners, const HotTable& hot);
    /// Looks at the limits that are awake, advances their views, writes what is believed into the
    /// limiter's records, and sends the deltas that are due.
    void tick(Instant now, DeltaSink& sink);
    /// Tells all that was admitted and that an owner has not acknowledged, also what is not due. To
    /// be called on leaving, after tick().
    void tell_all(Instant now, DeltaSink& sink);
    /// Makes an awake limit of a quiet one. `known` is what its first owner has of `run`.
    void wake_quiet(const LimitKey& key, std::uint32_t run, double known, Instant now,
                    const membership::Owners& owners);
    /// Looks at the limits that have become awake since the last tick, and tells their owners at
    /// once: the tick may be too late for a load that has leapt.
    void tell_woken(Instant now, DeltaSink& sink);
    /// The first owner says that the limit is far below its limit: it falls quiet in the next tick.
    void let_fall_quiet(const gossip::MemberId& from, const QuietOrder& order, Instant now);
    enum class TotalVerdict : std::uint8_t {
        taken,
        doubted,  // taken, although it has been far from what all other owners tell for seconds
        refused   // refused, because the limit cannot have such a level
    };
    TotalVerdict receive(const gossip::MemberId& from, const TotalEntry& total, Instant now);
    /// Takes a rumour about a limit that is quiet here or rests. False when the limit cannot have
    /// such a level.
    bool rumour(const HotEntry& entry, Instant now, const membership::Owners& owners);
    void shard_changed(membership::Shard shard, const membership::OwnerList& owners, Instant now);
    /// The owner's host says that no process listens at its address.
    void distrust(const gossip::MemberId& owner, Instant now);
    /// This owner was taken for dead, without a goodbye. To be called before shard_changed().
    void lost(const gossip::MemberId& owner);
    /// To be called after a stop of the process or with a new incarnation: earlier deltas will not
    /// be answered, so the owners are asked again.
    void ask_anew(Instant now);
    /// Definitions have changed: reads all parameters again.
    void refresh_parameters(Instant now);
    /// The limiter has reused records for other limits: drops what is kept for the earlier limits.
    void drop_changed(Instant now);

    [[nodiscard]] const SyncedLimit* find(const LimitKey& key) const;
    /// Every limit that is kept here, in no order.
    void for_each(const std::function<void(const SyncedLimit&)>& visit) const;
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }
    /// When a limit was last found to be in use.
    [[nodiscard]] Instant touched_at() const { return touched_at_; }
    /// The limits that are looked at regularly.
    [[nodiscard]] std::size_t awake() const { return awake_.size(); }
    /// The number of limits that are isolated now.
    [[nodiscard]] std::size_t isolated() const { return isolated_; }
    /// The staleness: the greatest age of what is known here of the other members' part in a limit
    /// with load, by the last messages of its owners and of the origins of limits that are owned
    /// here.
    [[nodiscard]] Duration staleness(const Owner& owner, Instant now) const;
    /// The largest pace, in tenths, that an owner of a limit in use asks for.
    [[nodiscard]] std::uint8_t pace() const;
    /// At most `most` limits in use that have other owners than this member, first those whose
    /// owners have all been silent for longest.
    [[nodiscard]] std::vector<LimitSilence> silences(std::size_t most, Instant now) const;
    /// Visits the limits of a shard. Those at rest are reckoned up to `now` before.
    void for_each_in_shard(membership::Shard shard, Instant now,
                           const std::function<void(const SyncedLimit&)>& visit);

  private:
    struct Candidate {
        std::uint32_t slot;
        std::uint32_t view;
        Need need;
        double priority = 0;  // where there was no room for all
        /// What may not wait for others: a leap, or an owner that was not asked yet.
        [[nodiscard]] bool is_urgent(const OwnerView& of) const {
            return need == Need::urgent || !of.asked();
        }
    };
    /// The rounds of deltas to one owner: when the last one was sent, when the next one is allowed,
    /// how many limits in use had a view of that owner, and whether there was room for all of them.
    /// Beside them what the deltas have shown of the network.
    struct Round {
        Instant last{};
        Instant next{};
        std::size_t limits = 0;
        bool cut_short = false;
        OwnerLink link;
    };
    /// The owner to which deltas go in a tick, the least need that is sent, and whether any was.
    struct Opened {
        gossip::MemberId owner;
        std::size_t limits = 0;  // of which it is told
        Need least = Need::ride_along;
        bool presence = false;  // one delta may go that only shows that we are there
        bool used = false;
        bool full = false;             // no room for what can wait
        bool full_for_urgent = false;  // no room at all
    };
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    [[nodiscard]] std::optional<std::uint32_t> slot_of(std::uint32_t record) const;
    void touched(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
                 const HotTable& hot);
    void meet(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
              const HotTable& hot);
    SyncedLimit* begin(limiter::LimitRef ref, const LimitKey& key,
                       const limiter::LimitIdentity& identity, const limiter::LocalCounts& base,
                       Instant now, const membership::Owners& owners);
    void begin_run(SyncedLimit& limit, const limiter::LocalCounts& base, Instant now);
    void fall_quiet(Instant now, DeltaSink& sink);
    void make_quiet(std::uint32_t slot, Instant now);
    void wake(std::uint32_t slot, Instant now);
    void add_to_awake(std::uint32_t slot, Instant now);
    void look_at(std::uint32_t slot, Instant now);
    void fall_asleep(std::uint32_t slot, Instant now);
    void ask_for_rests(Instant now);
    void reckon_rest(SyncedLimit& limit, Instant now);
    void note_isolation(SyncedLimit& limit, bool isolated, Instant now);
    void install(SyncedLimit& limit, const limiter::LocalCounts& counts, Instant now);
    void send_due(Instant now, DeltaSink& sink);
    void send(SyncedLimit& limit, OwnerView& view, std::size_t told_limits, Instant now,
              DeltaSink& sink);
    void leave_out_awaited(Instant now, DeltaSink& sink);
    [[nodiscard]] double priority(const Candidate& candidate, Instant now) const;
    void sort_by_priority(Instant now);
    [[nodiscard]] std::vector<Opened> open_packets(Instant now, DeltaSink& sink);
    /// Limits that are not hot are looked at in each so many ticks.
    [[nodiscard]] std::uint64_t cold_every() const;
    [[nodiscard]] bool waits_for_round(const Candidate& candidate, Instant now) const;
    [[nodiscard]] bool opens(const Candidate& candidate, Instant now, DeltaSink& sink);
    void open_for_presence(std::vector<Opened>& all, Instant now) const;
    [[nodiscard]] static Opened* find_opened(std::vector<Opened>& all,
                                             const gossip::MemberId& owner) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Opened& each) { return each.owner == owner; });
        return found == all.end() ? nullptr : &*found;
    }
    void note_rounds(const std::vector<Opened>& opened, Instant now);
    [[nodiscard]] Duration interval_of(std::size_t limits) const;
    [[nodiscard]] std::size_t count_limits(const gossip::MemberId& owner);
    [[nodiscard]] bool may_send(const Candidate& candidate, Instant now);
    void remove(std::uint32_t slot, Instant now);
    void sweep(Instant now);
    [[nodiscard]] static bool can_be(const SyncedLimit& limit, const HotEntry& entry);
    static void believe(SyncedLimit& limit, const HotEntry& rumour, Instant now);
    [[nodiscard]] Instant earliest() const;
    const SyncSettings& settings_;
    limiter::Limiter& limiter_;
    const Side& side_;
    QuietLimits& quiet_;
    Random random_;
    RunNumbers runs_;
    SyncStatistics& statistics_;
    WeightLedger* ledger_;
    gossip::MemberId self_;

    std::vector<SyncedLimit> slots_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> awake_;
    SlotIndex by_record_;  // by the number of the limiter's record
    std::unordered_map<LimitKey, std::uint32_t, KeyHash> by_key_;
    std::vector<Candidate> candidates_;
    DueQueue questions_;  // when the owners of limits at rest are asked
    std::map<gossip::MemberId, Round> rounds_;
    std::vector<std::uint32_t> woken_;  // slots that have become awake since the last tick
    std::vector<LimitKey> dismissed_;   // limits that fall quiet in the next tick
    bool put_off_ = false;  // since the last round there was no room for all deltas that were due
    std::size_t isolated_ = 0;
    Instant previous_tick_{};
    Instant touched_at_{};
    std::uint64_t ticks_ = 0;
    std::size_t sweep_at_ = 0;
};

}  // namespace weir::sync
