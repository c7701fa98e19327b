#pragma once
// One limit that this sidecar uses, as an origin: its own counts since the run of its cell began,
// and one view per owner. Decides what is believed; the Reporter decides when to send.
// Belongs to the control thread; owned by the Reporter.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "limiter/sync.h"
#include "membership/owners.h"
#include "sync/messages.h"
#include "sync/owner_view.h"

namespace weir::sync {

struct SyncedLimit {
    LimitKey key;
    limiter::LimitRef ref;
    std::string name;
    limiter::Unit unit{};
    Duration period{};
    limiter::LimitParameters parameters;
    limiter::IsolationMode when_isolated = limiter::IsolationMode::safe;
    bool safe_capacity = false;

    std::uint32_t run = 0;
    Instant run_began{};
    limiter::LocalCounts base;     // counts at which the run began
    limiter::LocalCounts last;     // as read last
    OriginCounts own;              // since the run began
    std::vector<OwnerView> views;  // one per owner of the shard, in their order

    Instant touched{};  // last time that own load was seen
    Instant looked{};   // last time that the counts were read
    Instant woken{};    // when it was asleep, or not there, last
    /// The last word of an owner that was given up for dead since, until another one is heard.
    std::optional<Instant> last_word;
    bool awake = false;
    bool installed = false;
    bool isolated = false;
    std::uint32_t generation = 0;  // of the slot: told apart when it is used again

    void begin_run(std::uint32_t new_run, const limiter::LocalCounts& counts, Instant now);
    /// Takes the limiter's counts in and moves the views on. `earliest`: when a limit that was not
    /// looked at before can have been touched at the earliest.
    void advance(const limiter::LocalCounts& counts, Instant earliest, Instant now);
    /// What comes from now on has come since then.
    void expect_since(Instant then) { expected_since_ = then; }
    /// Keeps the views of owners that stay and opens views for new ones. True if any is new.
    bool set_owners(const membership::OwnerList& owners);
    [[nodiscard]] OwnerView* view_of(const gossip::MemberId& owner);

    /// The largest view that may be believed now, or nothing: alone.
    [[nodiscard]] const OwnerView* believed(const SyncSettings& settings, Instant now) const;
    /// Whether what the quota says for isolation holds now: all owners fell silent within the hold
    /// time, or at least half of those heard hold the share of others. Who never heard of an owner
    /// is alone, not isolated.
    [[nodiscard]] bool is_isolated(const SyncSettings& settings, Instant now) const;
    /// Whether an owner goes on telling a rate a hundred times what the limit lets through and what
    /// any other owner tells: it can be, so it is believed, but somebody should look at that owner.
    [[nodiscard]] bool is_alone_with_its_rate(OwnerView& view, const SyncSettings& settings,
                                              Instant now) const;
    /// How old what the owners besides ourselves say may be. When all of them are silent, or given
    /// up, their last word goes on ageing.
    [[nodiscard]] Duration staleness(const SyncSettings& settings, const gossip::MemberId& self,
                                     Instant now) const;
    [[nodiscard]] std::uint32_t origins() const;
    [[nodiscard]] double fleet_rate() const;
    [[nodiscard]] std::uint8_t pace() const;
    [[nodiscard]] Thresholds thresholds(const SyncSettings& settings) const;
    [[nodiscard]] bool hot() const;
    /// Nothing is under way, nothing to tell, nothing that matters: no tick needed.
    [[nodiscard]] bool may_sleep(const SyncSettings& settings, Instant now) const;
    [[nodiscard]] limiter::FleetView fleet_view(const OwnerView& view,
                                                const limiter::LocalCounts& counts) const;
    [[nodiscard]] DeltaEntry delta(const SyncSettings& settings, const OwnerView& view,
                                   Instant now) const;

  private:
    [[nodiscard]] double rate_now(double slow, double came, Duration time);

    double quick_rate_ = 0;
    Instant expected_since_{};
};

}  // namespace weir::sync
