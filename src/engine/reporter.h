#pragma once
// The origin's side of the counter synchronisation: which limits are in use here, what is believed
// of each, and which deltas are due to which owner. Costs by limits in use: idle ones sleep.
// Belongs to the control thread. Borrows limiter and statistics.
//
// Invariants: at most maximum_synced_limits entries; at most one round of deltas to one owner in
// minimum_interval, except for a limit's very first question.

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "engine/hot_table.h"
#include "engine/statistics.h"
#include "engine/synced_limit.h"
#include "gossip/owners.h"
#include "limiter/limiter.h"

namespace weir::engine {

/// Takes deltas for an owner; it may be ourselves.
class DeltaSink {
  public:
    virtual ~DeltaSink() = default;
    virtual void send_delta(const gossip::MemberId& owner, const gossip::DeltaEntry& entry) = 0;
};

class Reporter {
  public:
    Reporter(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
             SyncStatistics& statistics);

    /// Who we are: an owner that needs no network and no pacing.
    void set_self(const gossip::MemberId& self) { self_ = self; }
    /// Looks at what was touched, moves views on, installs them, sends what is due.
    void tick(Instant now, const gossip::Owners& owners, const HotTable& hot, DeltaSink& sink);
    void receive(const gossip::MemberId& from, const gossip::TotalEntry& total, Instant now);
    /// A rumour about a limit that nobody here has used lately.
    void rumour(const gossip::HotEntry& entry, Instant now);
    void shard_changed(gossip::Shard shard, const gossip::OwnerList& owners, Instant now);
    /// After a stop of the process: everybody is asked anew.
    void stopped();
    /// Definitions changed: parameters are read again.
    void refresh_parameters();

    [[nodiscard]] const SyncedLimit* find(const gossip::LimitKey& key) const;
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }
    /// The age of the oldest view that is believed.
    [[nodiscard]] Duration staleness(Instant now) const;
    void for_each_in_shard(gossip::Shard shard,
                           const std::function<void(const SyncedLimit&)>& visit) const;

  private:
    struct Candidate {
        std::uint32_t slot;
        std::uint32_t view;
        Need need;
    };
    struct KeyHash {
        std::size_t operator()(const gossip::LimitKey& key) const { return gossip::hash(key); }
    };
    void adopt_touched(Instant now, const gossip::Owners& owners, const HotTable& hot);
    void touched(limiter::LimitRef ref, Instant now, const gossip::Owners& owners,
                 const HotTable& hot);
    void meet(limiter::LimitRef ref, Instant now, const gossip::Owners& owners,
              const HotTable& hot);
    void wake(std::uint32_t slot, Instant now);
    void look_at(std::uint32_t slot, Instant now);
    void install(SyncedLimit& limit, const limiter::LocalCounts& counts, Instant now);
    void send_due(Instant now, DeltaSink& sink);
    [[nodiscard]] bool may_send(const Candidate& candidate, Instant now);
    void remove(std::uint32_t slot, Instant now);
    void sweep(Instant now);
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
    std::unordered_map<gossip::LimitKey, std::uint32_t, KeyHash> by_key_;
    std::vector<Candidate> candidates_;
    std::map<gossip::MemberId, Instant> last_packet_;
    std::unordered_map<std::uint32_t, Instant> rumoured_;  // asleep slots with an installed rumour
    Instant previous_tick_{};
    std::uint64_t ticks_ = 0;
    std::size_t sweep_at_ = 0;
};

}  // namespace weir::engine
