#pragma once
// One limit that this sidecar uses, as an origin: its own counts since the run of its cell began,
// and one view per owner. It decides which view is believed; the Reporter decides when to send.
// Belongs to the control thread; owned by the Reporter.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "limiter/fleet_values.h"
#include "membership/owners.h"
#include "sync/falling_rate.h"
#include "sync/messages.h"
#include "sync/owner_view.h"
#include "sync/side.h"

namespace weir::sync {

/// What a limit is called on the wire.
[[nodiscard]] LimitKey key_of(std::string_view quota, limiter::Unit unit, Duration period);
[[nodiscard]] inline LimitKey key_of(const limiter::LimitIdentity& identity) {
    LimitKey key = key_of(identity.quota, identity.unit, identity.period);
    if (identity.parameters.in_flight) {
        key.kind = static_cast<std::uint8_t>(limiter::LimitKind::concurrency);
    } else if (identity.parameters.window) {
        key.kind = static_cast<std::uint8_t>(limiter::LimitKind::window);
    }
    return key;
}

struct SyncedLimit {
    LimitKey key;
    limiter::LimitRef ref;
    std::string name;
    limiter::Unit unit{};
    Duration period{};
    limiter::LimitParameters parameters;
    limiter::Isolation isolation;
    bool safe_capacity = false;

    std::uint32_t run = 0;
    Instant run_began{};
    limiter::LocalCounts base;     // the limiter's counts when the run began
    limiter::LocalCounts last;     // the limiter's counts as last read
    OriginCounts own;              // the counts since the run began
    std::vector<OwnerView> views;  // one per owner of the shard, in their order

    Instant touched{};  // when load of this member was last seen
    Instant looked{};   // when the counts were last read
    Instant woken{};    // when it was last woken or added
    /// When an owner was last heard that has been taken for dead since; kept until another owner is
    /// heard.
    std::optional<Instant> last_word;
    /// The view of an owner that has been taken for dead since, kept for as long; of several the
    /// one with the largest level. It holds while none of the owners is heard.
    std::unique_ptr<OwnerView> last_view;
    bool awake = false;
    bool installed = false;
    bool isolated = false;
    /// Asleep, with a level that matters: the limiter goes on reckoning with what the owners said
    /// last, and they tell of changes.
    bool resting = false;

    void begin_run(std::uint32_t new_run, const limiter::LocalCounts& counts, Instant now);
    /// To be called after begin_run() for a limit that was quiet: what the run begins with, and the
    /// quick estimate of the rate at which weight is offered here.
    void begin_awake(double admitted, double offered, double rate);
    /// Takes the limiter's counts in and advances the views. `earliest` is the earliest time at
    /// which a limit that is new here can have been touched.
    void advance(const limiter::LocalCounts& counts, Instant earliest, Instant now);
    /// To be called after advance(): load of others that has come here since owners are silent.
    void reckon_moved_load(const SyncSettings& settings, Instant now);
    /// Says that counts read from now on have come since `then`.
    void expect_since(Instant then) { expected_since_ = then; }
    /// Keeps the views of owners that remain and adds views of new owners. True if there is a new
    /// one. `self` is this member.
    bool set_owners(const membership::OwnerList& owners, const gossip::MemberId& self);
    [[nodiscard]] OwnerView* view_of(const gossip::MemberId& owner);
    /// This owner has been taken for dead.
    void lost(const gossip::MemberId& owner);
    /// Another owner was heard.
    void found() {
        last_word.reset();
        last_view.reset();
    }

    /// The view with the largest level among those that may be believed now; nullptr if there is
    /// none and this member is alone.
    [[nodiscard]] const OwnerView* believed(const SyncSettings& settings, const Side& side,
                                            Instant now) const;
    /// Whether the limit is isolated: all owners fell silent within the hold time, and were asked
    /// and did not answer, and most other members cannot be heard either; or at least half of the
    /// owners that are heard keep the share of members that are cut off. A member that has never
    /// heard an owner is alone and not isolated.
    [[nodiscard]] bool is_isolated(const SyncSettings& settings, const Side& side,
                                   Instant now) const;
    /// How long the share of silent owners' origins is held.
    [[nodiscard]] Duration hold_time(const SyncSettings& settings) const {
        return isolation.hold.value_or(settings.hold);
    }
    /// Whether an owner keeps reporting a rate that is a hundred times what the limit lets through
    /// and what any other owner reports. It is possible, so it is believed, but people should look
    /// at that owner.
    [[nodiscard]] bool is_alone_with_its_rate(OwnerView& view, const SyncSettings& settings,
                                              Instant now) const;
    /// Whether the owner that is believed was told of all that came here, and that no load is left:
    /// it is not asked any more.
    [[nodiscard]] bool told_no_load(const SyncSettings& settings, const Side& side,
                                    Instant now) const;
    /// The age of what the owners other than this member say. When all of them are silent or given
    /// up, the age of their last message counts.
    [[nodiscard]] Duration staleness(const SyncSettings& settings, const Side& side,
                                     const gossip::MemberId& self, Instant now) const;
    [[nodiscard]] std::uint32_t origins() const;
    [[nodiscard]] double fleet_rate() const;
    [[nodiscard]] std::uint8_t pace() const;
    [[nodiscard]] Thresholds thresholds(const SyncSettings& settings) const;
    [[nodiscard]] bool hot() const;
    /// Whether no tick is needed: no delta awaits its answer, there is nothing to report, and the
    /// level does not matter or only drains.
    [[nodiscard]] bool may_sleep(const SyncSettings& settings, Instant now) const;
    /// Whether a level is known that matters for the next request.
    [[nodiscard]] bool matters() const;
    /// Whether the largest level that was known when the limit was last looked at has drained.
    [[nodiscard]] bool has_drained(Instant now) const;
    void rest();
    /// Whether a rumour says that a limit at rest has been used more than is known here.
    [[nodiscard]] bool is_news(const SyncSettings& settings, const HotEntry& rumour,
                               Instant now) const;
    [[nodiscard]] limiter::FleetView fleet_view(const OwnerView& view,
                                                const limiter::LocalCounts& counts) const;
    [[nodiscard]] DeltaEntry delta(const SyncSettings& settings, const OwnerView& view,
                                   Instant now) const;

  private:
    [[nodiscard]] bool holds(const OwnerView& view, const SyncSettings& settings, const Side& side,
                             Instant now) const;
    [[nodiscard]] double rate_now(double slow, double came, Duration time, Instant now);

    double quick_rate_ = 0;
    FallingRate falling_;
    Instant expected_since_{};
};

}  // namespace weir::sync
