#pragma once
// One limit that this sidecar uses, as an origin: its own counts since the run of its cell began,
// and one view per owner. Decides what is believed; the Reporter decides when to send.
// Belongs to the control thread; owned by the Reporter.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "engine/view.h"
#include "gossip/counter_messages.h"
#include "gossip/owners.h"
#include "limiter/sync.h"

namespace weir::engine {

struct SyncedLimit {
    gossip::LimitKey key;
    limiter::LimitRef ref;
    std::string name;
    limiter::Unit unit{};
    Duration period{};
    limiter::LimitParameters parameters;

    std::uint32_t run = 0;
    Instant run_began{};
    limiter::LocalCounts base;  // counts at which the run began
    limiter::LocalCounts last;  // as read last
    OriginCounts own;           // since the run began
    std::vector<View> views;    // one per owner of the shard, in their order

    Instant touched{};  // last time that own load was seen
    Instant looked{};   // last time that the counts were read
    bool awake = false;
    bool installed = false;
    std::uint32_t generation = 0;  // of the slot: told apart when it is used again

    void begin_run(std::uint32_t new_run, const limiter::LocalCounts& counts, Instant now);
    /// Takes the limiter's counts in and moves the views on. `earliest`: when a limit that was not
    /// looked at before can have been touched at the earliest.
    void advance(const limiter::LocalCounts& counts, Instant earliest, Instant now);
    /// Keeps the views of owners that stay and opens views for new ones. True if any is new.
    bool set_owners(const gossip::OwnerList& owners);
    [[nodiscard]] View* view_of(const gossip::MemberId& owner);

    /// The largest view that may be believed now, or nothing: alone.
    [[nodiscard]] const View* believed(const SyncSettings& settings, Instant now) const;
    [[nodiscard]] std::uint32_t origins() const;
    [[nodiscard]] double fleet_rate() const;
    [[nodiscard]] std::uint8_t pace() const;
    [[nodiscard]] Thresholds thresholds(const SyncSettings& settings) const;
    [[nodiscard]] bool hot() const;
    /// Nothing is under way, nothing to tell, nothing that matters: no tick needed.
    [[nodiscard]] bool may_sleep(const SyncSettings& settings, Instant now) const;
    [[nodiscard]] limiter::FleetView fleet_view(const View& view,
                                                const limiter::LocalCounts& counts) const;
    [[nodiscard]] gossip::DeltaEntry delta(const SyncSettings& settings, const View& view,
                                           Instant now) const;
};

}  // namespace weir::engine
