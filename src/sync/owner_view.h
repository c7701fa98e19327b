#pragma once
// What a sidecar believes of one limit from one owner: a leaky bucket that runs the owner's model,
// corrected by each total, together with the deltas that the owner has not acknowledged yet.
// Belongs to the control thread; owned by a SyncedLimit.
//
// Invariants: the flights are ordered by sending time and bounded; `known` is what the owner last
// acknowledged, to the bit.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "sync/messages.h"
#include "sync/reckoning.h"
#include "sync/settings.h"

namespace weir::sync {

/// Below this (in typical requests a second) a rate is as good as none.
inline constexpr double kQuietRate = 0.01;

/// The origin's own figures at one instant, since its run of the cell began.
struct OriginCounts {
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    double rate = 0;
    double open_time = 0;
    double heaviest = 0;
    double typical = 1;
    double believed_level = 0;
    bool shedding = false;
    Instant since{};  // the newest of it was admitted after this
    [[nodiscard]] double net() const { return admitted - refunded; }
};

/// Thresholds which the limit and the size of the fleet give, shared by all views of a limit.
struct Thresholds {
    double admitted = 0;  // this origin's share of the error budget
    double offered = 0;
    /// Of a limit that is not hot: below this only what is more than chance is worth a word. 0:
    /// hot.
    double calm = 0;
};

[[nodiscard]] Thresholds thresholds_of(const SyncSettings& settings,
                                       const limiter::LimitParameters& limit, double typical,
                                       double fleet_rate, std::uint32_t origins, std::uint8_t pace);
/// Thresholds::calm of a limit that is not hot.
[[nodiscard]] double calm_of(const limiter::LimitParameters& limit, double typical,
                             std::uint32_t origins);

/// Whether a delta has to go out: not, when others of limits that are not hot go, when a packet
/// goes anyway, when one may go again, or without waiting for others to share it, since the load
/// leapt.
enum class Need : std::uint8_t { none, together, ride_along, must, urgent };

class OwnerView {
  public:
    explicit OwnerView(const gossip::MemberId& owner) : owner_(owner) {}

    [[nodiscard]] const gossip::MemberId& owner() const { return owner_; }

    /// Reckons up to `now`; what we admitted since the last call is added as it is.
    void advance(const limiter::LimitParameters& limit, const OriginCounts& own, Instant now);

    [[nodiscard]] Need need(const SyncSettings& settings, const limiter::LimitParameters& limit,
                            const OriginCounts& own, const Thresholds& thresholds,
                            Instant now) const;
    /// Whether the level is worth asking for although we have nothing to tell.
    [[nodiscard]] bool matters(const limiter::LimitParameters& limit) const;
    /// Remembers what is being sent. `counts` must be quantised.
    void sent(const OriginCounts& counts, Instant now);

    /// Takes a total in. False when it is older than what is known.
    bool receive(const SyncSettings& settings, const limiter::LimitParameters& limit,
                 const TotalEntry& total, std::uint32_t run, const OriginCounts& own, Instant now);
    /// The origin begins a new run, or meets a new owner: nothing is acknowledged yet.
    void begin_run(const OriginCounts& own, Instant run_began);
    /// After a stop of our own: the owner is asked at once. What it said goes on being reckoned
    /// with for as long as a hold would last: a better guess than an empty bucket.
    void ask_anew();
    /// A stand-in until the first total comes: a rumour from membership gossip.
    void rumour(const HotEntry& hot, const OriginCounts& own, Instant now);

    /// Nobody is at the owner's address any more, its host says: not believed until heard again.
    void distrust() { distrusted_ = true; }
    [[nodiscard]] bool heard() const { return heard_.has_value(); }
    /// Heard lately enough to be believed.
    [[nodiscard]] bool fresh(const SyncSettings& settings, Instant now) const;
    /// Heard within `hold` after it ceased to be fresh.
    [[nodiscard]] bool within_hold(const SyncSettings& settings, Duration hold, Instant now) const;
    [[nodiscard]] bool filled() const { return filled_; }
    /// The owner holds the share of origins that are cut off from it.
    [[nodiscard]] bool held() const { return held_; }
    /// The owner knows all that there is to tell, and that there is no rate.
    [[nodiscard]] bool quiet(const OriginCounts& own) const;
    [[nodiscard]] bool asked() const { return sent_at_.has_value(); }
    [[nodiscard]] bool awaiting() const { return unanswered_ > 0; }
    [[nodiscard]] bool resending() const { return unanswered_ > 1; }
    [[nodiscard]] const ReckonedLimit& bucket() const { return bucket_; }
    /// The counts of the present run that the owner acknowledged last, in this life of it.
    [[nodiscard]] const OriginCounts& acknowledged() const { return known_; }
    [[nodiscard]] std::uint32_t life() const { return life_; }
    [[nodiscard]] double others_rate() const;
    [[nodiscard]] double known_rate() const { return known_.rate; }
    [[nodiscard]] std::uint32_t origins() const { return origins_; }
    [[nodiscard]] std::uint8_t pace() const { return pace_; }
    [[nodiscard]] std::optional<Instant> heard_at() const { return heard_; }
    [[nodiscard]] Duration round_trip() const { return round_trip_; }
    /// How old what it says may be: since it was heard, and as long as its answers took lately.
    [[nodiscard]] Duration staleness(Instant now) const { return now - *heard_ + answered_after_; }
    /// The age of the oldest weight that is not acknowledged.
    [[nodiscard]] Duration oldest_age(Instant now) const;
    /// Whether the owner's rate has been far from what all others tell for longer than news takes
    /// to reach all owners. Say whether it is now.
    [[nodiscard]] bool contradicts(bool now_far, Instant now);
    /// The keep-alive that holds between us and this owner.
    [[nodiscard]] Duration keep_alive(const SyncSettings& settings, double rate) const;

  private:
    struct Flight {
        OriginCounts counts;
        Instant at;
    };
    void acknowledge(const TotalEntry& total, const OriginCounts& own, Instant now);
    void note_round_trip(Duration measured);
    [[nodiscard]] Duration resend_wait(const SyncSettings& settings, double rate) const;

    gossip::MemberId owner_;
    ReckonedLimit bucket_;
    OriginCounts known_;
    double net_seen_ = 0;  // own net admitted weight that is in the bucket
    std::vector<Flight> flights_;
    std::uint32_t unanswered_ = 0;
    std::uint32_t life_ = 0;
    std::uint32_t origins_ = 1;
    std::uint8_t pace_ = 0;
    bool filled_ = false;
    bool held_ = false;
    bool distrusted_ = false;
    std::optional<Instant> heard_;
    std::optional<Instant> sent_at_;
    std::optional<Instant> known_at_;
    std::optional<Instant> first_unacknowledged_;
    std::optional<Instant> far_since_;
    Instant advanced_{};
    Duration round_trip_{};      // the shortest of late
    Duration answered_after_{};  // the longest of late
    Duration owner_keep_alive_{};
};

}  // namespace weir::sync
