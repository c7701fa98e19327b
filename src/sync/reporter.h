#pragma once
// The origin's side of the counter synchronisation: which limits are in use here, what is believed
// of each, and which deltas are due to which owner. Costs by limits in use: idle ones sleep.
// Belongs to the control thread. Borrows limiter and statistics.
//
// Invariants: at most maximum_synced_limits entries; rounds of deltas to one owner on average
// minimum_interval apart, interval_burst more in a row, except for a limit's very first question.

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/hot_table.h"
#include "sync/owner.h"
#include "sync/statistics.h"
#include "sync/synced_limit.h"

namespace weir::sync {

/// Takes deltas for an owner; it may be ourselves.
class DeltaSink {
  public:
    virtual ~DeltaSink() = default;
    virtual void send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) = 0;
};

class Reporter {
  public:
    Reporter(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
             SyncStatistics& statistics);

    /// Who we are: an owner that needs no network and no pacing.
    void set_self(const gossip::MemberId& self) { self_ = self; }
    /// Looks at what was touched, moves views on, installs them, sends what is due.
    void tick(Instant now, const membership::Owners& owners, const HotTable& hot, DeltaSink& sink);
    enum class Verdict : std::uint8_t {
        taken,
        doubted,  // taken; but for seconds no other owner has told anything like it
        refused   // the level is beyond all that the limit can hold
    };
    Verdict receive(const gossip::MemberId& from, const TotalEntry& total, Instant now);
    /// A rumour about a limit that nobody here has used lately. False when its level cannot be.
    bool rumour(const HotEntry& entry, Instant now);
    void shard_changed(membership::Shard shard, const membership::OwnerList& owners, Instant now);
    /// Nobody is at this owner's address, its host says.
    void distrust(const gossip::MemberId& owner, Instant now);
    /// This owner was given up for dead: it said no goodbye. To be told before shard_changed().
    void lost(const gossip::MemberId& owner);
    /// After a stop of the process, or under a new incarnation: what was asked is not answered.
    void ask_anew();
    /// Definitions changed: parameters are read again.
    void refresh_parameters(Instant now);
    /// Records were given to other limits: what was kept for those that had them goes.
    void drop_changed(Instant now);

    [[nodiscard]] const SyncedLimit* find(const LimitKey& key) const;
    /// Every limit that is kept here, in no order.
    void for_each(const std::function<void(const SyncedLimit&)>& visit) const;
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }
    /// Limits for which the mode for isolation holds now.
    [[nodiscard]] std::size_t isolated() const { return isolated_; }
    /// How old what is known here of the others' part in a limit with load may be, at most: by the
    /// owners that are heard, or were, and by the origins of the limits that we own.
    [[nodiscard]] Duration staleness(const Owner& owner, Instant now) const;
    /// The most that an owner of a limit in use asks for, in tenths on top.
    [[nodiscard]] std::uint8_t pace() const;
    /// Limits in use that have other owners than ourselves, those first that none of these was
    /// heard of for longest; at most `most`.
    [[nodiscard]] std::vector<LimitSilence> silences(std::size_t most, Instant now) const;
    void for_each_in_shard(membership::Shard shard,
                           const std::function<void(const SyncedLimit&)>& visit) const;

  private:
    struct Candidate {
        std::uint32_t slot;
        std::uint32_t view;
        Need need;
    };
    /// Deltas to one owner: when the last ones went, when the average allows the next ones, and
    /// how many limits were awake then with views of that owner.
    struct Round {
        Instant last{};
        Instant next{};
        std::size_t limits = 0;
    };
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    void adopt_touched(Instant now, const membership::Owners& owners, const HotTable& hot);
    void touched(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
                 const HotTable& hot);
    void meet(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
              const HotTable& hot);
    void wake(std::uint32_t slot, Instant now);
    void add_to_awake(std::uint32_t slot, Instant now);
    void look_at(std::uint32_t slot, Instant now);
    void note_isolation(SyncedLimit& limit, bool isolated, Instant now);
    void install(SyncedLimit& limit, const limiter::LocalCounts& counts, Instant now);
    void send_due(Instant now, DeltaSink& sink);
    [[nodiscard]] Duration interval_of(std::size_t limits) const;
    [[nodiscard]] std::size_t count_limits(const gossip::MemberId& owner);
    [[nodiscard]] bool may_send(const Candidate& candidate, Instant now);
    void remove(std::uint32_t slot, Instant now);
    void sweep(Instant now);
    [[nodiscard]] static bool can_be(const SyncedLimit& limit, const HotEntry& entry);
    [[nodiscard]] Instant earliest() const;
    void end_rumours(Instant now);
    [[nodiscard]] std::uint32_t draw_run();

    const SyncSettings& settings_;
    limiter::Limiter& limiter_;
    Random random_;
    SyncStatistics& statistics_;
    gossip::MemberId self_;

    std::vector<SyncedLimit> slots_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> awake_;
    std::vector<std::uint32_t> by_record_;  // limiter's record -> slot + 1
    std::unordered_map<LimitKey, std::uint32_t, KeyHash> by_key_;
    std::vector<Candidate> candidates_;
    std::map<gossip::MemberId, Round> rounds_;
    std::unordered_map<std::uint32_t, Instant> rumoured_;  // asleep slots with an installed rumour
    std::size_t isolated_ = 0;
    Instant previous_tick_{};
    std::uint64_t ticks_ = 0;
    std::size_t sweep_at_ = 0;
};

}  // namespace weir::sync
