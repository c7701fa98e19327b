#pragma once
// What a sidecar believes of one limit from one owner: a leaky bucket that runs the owner's model,
// corrected by each total, together with the deltas that the owner has not acknowledged yet.
// Belongs to the control thread; owned by a SyncedLimit.
//
// Invariants: the list of deltas without acknowledgement is bounded and ordered by sending time;
// `known_` is what the owner last acknowledged, bit for bit.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "sync/messages.h"
#include "sync/reckoning.h"
#include "sync/settings.h"

namespace weir::sync {

/// A rate below this (in typical requests a second) counts as no rate.
inline constexpr double kQuietRate = 0.01;

/// What an origin knows of its own use of a limit at one instant. `admitted`, `refunded` and
/// `offered` count from the beginning of its run.
struct OriginCounts {
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    double rate = 0;
    double open_time = 0;  // the integral of 1 - p over time, by which admissions are predicted
    double heaviest = 0;
    double typical = 1;
    double believed_level = 0;  // the level here, for an owner that has just begun
    bool shedding = false;
    Instant since{};  // the newest weight in it was admitted after this instant
    [[nodiscard]] double net() const { return admitted - refunded; }
};

/// How large an unreported change must be to be reported. The limit and the size of the fleet
/// determine it; it is the same for all views of a limit.
struct Thresholds {
    double admitted = 0;  // this origin's share of the error budget
    double offered = 0;
    /// A change below this is reported only if it is more than chance. 0 for a limit that is hot,
    /// that has a hard edge, or that has room for only a few requests of each origin.
    double calm = 0;
};

[[nodiscard]] Thresholds thresholds_of(const SyncSettings& settings,
                                       const limiter::LimitParameters& limit, double typical,
                                       double fleet_rate, std::uint32_t origins, std::uint8_t pace);
/// Thresholds::calm of a limit that is not hot.
[[nodiscard]] double calm_of(const limiter::LimitParameters& limit, double typical,
                             std::uint32_t origins);

/// How urgently a delta has to be sent. `none`: not at all. `presence`: only if the owner would
/// else be told nothing for longer than the keep-alive; then one such delta is enough, whatever the
/// limit. `together`: when deltas of other limits that are not hot are sent. `ride_along`: when any
/// packet is sent to the owner, or an answer that has waited. `must`: as soon as the interval
/// between packets allows, or in the next round (Reporter::waits_for_round()). `urgent`: without
/// waiting for others to share the packet, because the load has leapt.
enum class Need : std::uint8_t { none, presence, together, ride_along, must, urgent };

/// Whether both this member and the owner of a view own the limit, and which of them goes first:
/// the other one then tells as soon as its answer has to go.
enum class Pairing : std::uint8_t { none, first, second };

/// What deltas to one owner have shown of the network between this member and it, whichever limits
/// they told of.
struct OwnerLink {
    Instant told_at{};        // when the last one was sent
    Instant settled_since{};  // since then none was lost, as far as one can know
};

class OwnerView {
  public:
    explicit OwnerView(const gossip::MemberId& owner) : owner_(owner) {}

    [[nodiscard]] const gossip::MemberId& owner() const { return owner_; }
    /// To be called whenever the owners of the limit have changed.
    void pair(Pairing pairing) {
        pairing_ = pairing;
        steady_ = steady_ && pairing != Pairing::none;
    }

    /// Reckons up to `now`. What this member admitted since the last call is known and is added
    /// exactly.
    void advance(const limiter::LimitParameters& limit, const OriginCounts& own, Instant now);

    [[nodiscard]] Need need(const SyncSettings& settings, const limiter::LimitParameters& limit,
                            const OriginCounts& own, const Thresholds& thresholds,
                            Instant now) const;
    /// By how much the owner's reckoning is off, as a multiple of the error that is worth a delta.
    [[nodiscard]] double news(const SyncSettings& settings, const limiter::LimitParameters& limit,
                              const OriginCounts& own, const Thresholds& thresholds,
                              Instant now) const;
    /// Whether the owner is to be asked for the level although there is nothing to report.
    [[nodiscard]] bool matters(const limiter::LimitParameters& limit) const;
    /// Whether the view stays right when the owner is not asked any more: it is believed, and the
    /// level in it only drains, because no other origin offers anything.
    [[nodiscard]] bool may_rest(const SyncSettings& settings, Instant now) const;
    /// To be called when the owner will not be asked for a while. The view is believed until a
    /// later question stays unanswered, because the owner sends a publication when something
    /// changes.
    void rest() { resting_ = true; }
    /// To be called before a delta is put together, with the link to the owner. `hot`: whether the
    /// limit is (SyncedLimit::hot()). `told_limits` is the number of limits that the owner is told
    /// of. True if the last one was lost, as far as one can know.
    bool begin_telling(const SyncSettings& settings, const limiter::LimitParameters& limit,
                       bool hot, OwnerLink& link, Instant now, std::size_t told_limits = 1);
    /// Whether this member and the owner, an owner as well, tell each other of the limit as seldom
    /// as they may: for seconds nothing was lost between them.
    [[nodiscard]] bool steady() const { return steady_; }
    /// Whether the owner may hold its answer to the next delta back, which tells so much (news()).
    /// Now and then it may not, so that the round trip is known.
    [[nodiscard]] bool lets_answer_wait(double news, bool hot, Instant now) const;
    /// Remembers a delta that is being sent. `counts` must be quantised. `may_wait`: the owner may
    /// hold its answer back, for kAnswerMayWait.
    void sent(const OriginCounts& counts, Instant now, std::size_t told_limits = 1,
              bool may_wait = false);

    /// Whether load of members that are silent has come here, if this owner is silent as well: what
    /// is offered here beyond the rate that it acknowledged counts as theirs no more. To be called
    /// after advance().
    void reckon_moved_load(const SyncSettings& settings, const OriginCounts& own, Instant now);
    /// Takes a total in. False when it is older than what is known.
    bool receive(const SyncSettings& settings, const limiter::LimitParameters& limit,
                 const TotalEntry& total, std::uint32_t run, const OriginCounts& own, Instant now);
    /// Begins a new run, or the first run with a new owner: nothing is acknowledged yet.
    void begin_run(const OriginCounts& own, Instant run_began);
    /// To be called after this process was stopped: the owner is asked at once. Until it answers,
    /// at most for the hold time, the model goes on from its last total, which is a better guess
    /// than an empty bucket.
    void ask_anew();
    /// Takes the level and the rate that a hint in membership gossip tells of a hot limit. They
    /// stand for the owner's total until its first one comes.
    void rumour(const limiter::LimitParameters& limit, const HotEntry& hot, const OriginCounts& own,
                Instant now);

    /// The owner's host says that no process listens at its address any more. The view is not
    /// believed until the owner is heard again.
    void distrust() { distrusted_ = true; }
    [[nodiscard]] bool heard() const { return heard_.has_value(); }
    /// Whether the owner was asked so long ago without an answer that it counts as gone, or its
    /// host says that it is. An owner that was not asked is never missed.
    [[nodiscard]] bool asked_in_vain(const SyncSettings& settings, Instant now) const;
    /// Whether the owner was heard recently enough to be believed.
    [[nodiscard]] bool fresh(const SyncSettings& settings, Instant now) const;
    /// Whether the view ceased to be fresh less than `hold` ago.
    [[nodiscard]] bool within_hold(const SyncSettings& settings, Duration hold, Instant now) const;
    [[nodiscard]] bool filled() const { return filled_; }
    /// Whether the owner keeps the share of origins that are cut off from it.
    [[nodiscard]] bool held() const { return held_; }
    /// Whether the owner has acknowledged all counts, and a rate of 0 or as good as 0 (kQuietRate).
    /// It has nothing to do with quiet limits, of which there are no views.
    [[nodiscard]] bool quiet(const OriginCounts& own) const;
    /// Whether the owner has acknowledged what was admitted, or is being told of it right now.
    [[nodiscard]] bool is_told(const OriginCounts& own, Instant now) const;
    [[nodiscard]] bool asked() const { return sent_at_.has_value(); }
    /// When the owner was last told or asked; only if it was.
    [[nodiscard]] Instant asked_at() const { return *sent_at_; }
    [[nodiscard]] bool awaiting() const { return unanswered_ > 0; }
    /// Whether an answer is missing only because the owner may hold it back. What was told counts
    /// as known meanwhile.
    [[nodiscard]] bool waits_patiently(const SyncSettings& settings, Instant now) const;
    /// Whether an answer is missing that the owner may not hold back, or not any more.
    [[nodiscard]] bool misses_answer(const SyncSettings& settings, Instant now) const {
        return awaiting() && !waits_patiently(settings, now);
    }
    [[nodiscard]] const ReckonedLimit& bucket() const { return bucket_; }
    /// The counts of this run that the owner last acknowledged in its present life.
    [[nodiscard]] const OriginCounts& acknowledged() const { return known_; }
    [[nodiscard]] std::uint32_t life() const { return life_; }
    [[nodiscard]] double others_rate() const;
    /// The same as the owner last told it, wherever load has moved since.
    [[nodiscard]] double told_others_rate() const;
    /// Whether the owner says that a hard edge sheds.
    [[nodiscard]] bool owner_sheds() const { return owner_sheds_; }
    [[nodiscard]] std::uint32_t origins() const { return origins_; }
    [[nodiscard]] std::uint8_t pace() const { return pace_; }
    [[nodiscard]] std::optional<Instant> heard_at() const { return heard_; }
    /// This member's own rate, as the owner last acknowledged it.
    [[nodiscard]] double own_rate() const { return known_.rate; }
    [[nodiscard]] Duration round_trip() const { return round_trip_; }
    /// How old the owner's knowledge may be: the time since it was heard, plus the longest time
    /// that its answers took lately. To be called only if it was heard.
    [[nodiscard]] Duration staleness(Instant now) const { return now - *heard_ + answered_after_; }
    /// The age of the oldest weight that is not acknowledged.
    [[nodiscard]] Duration oldest_age(Instant now) const;
    /// Whether the owner's rate has been far from that of all other owners for longer than news
    /// takes to reach all of them. `now_far` says whether it is now.
    [[nodiscard]] bool contradicts(bool now_far, Instant now);
    /// The keep-alive between this member and this owner.
    [[nodiscard]] Duration keep_alive(const SyncSettings& settings, double rate) const;

  private:
    struct Flight {
        OriginCounts counts;
        Instant at;
        bool may_wait;
    };
    /// What the owner is taken to know, and since when.
    struct Told {
        const OriginCounts& counts;
        std::optional<Instant> at;
    };
    [[nodiscard]] Told told(const SyncSettings& settings, Instant now) const;
    [[nodiscard]] static bool may_be_seldom(const SyncSettings& settings,
                                            const limiter::LimitParameters& limit, bool hot,
                                            std::size_t told_limits);
    void acknowledge(const TotalEntry& total, const OriginCounts& own, Instant now);
    void note_round_trip(Duration measured, Instant now);
    [[nodiscard]] double ride_seconds(const SyncSettings& settings, Duration keep) const;
    [[nodiscard]] Duration resend_wait(const SyncSettings& settings, double rate) const;

    gossip::MemberId owner_;
    ReckonedLimit bucket_;
    OriginCounts known_;
    double moved_rate_ = 0;  // of the others' rate, what has come here since the owner is silent
    double net_seen_ = 0;    // this member's own net admitted weight that is in the bucket
    std::vector<Flight> flights_;
    std::uint32_t unanswered_ = 0;
    std::uint32_t life_ = 0;
    std::uint32_t origins_ = 1;
    std::uint16_t told_limits_ = 1;
    std::uint8_t pace_ = 0;
    bool filled_ = false;
    bool held_ = false;
    bool distrusted_ = false;
    bool resting_ = false;
    std::optional<Instant> asked_at_rest_;  // when the owner was first asked after the rest
    bool owner_sheds_ = false;
    Pairing pairing_ = Pairing::none;
    bool steady_ = false;
    std::optional<Instant> measured_at_;  // the round trip
    std::optional<Instant> heard_;
    std::optional<Instant> sent_at_;
    std::optional<Instant> known_at_;
    std::optional<Instant> first_unacknowledged_;
    std::optional<Instant> far_since_;
    Instant advanced_{};
    Duration round_trip_{};      // the shortest one of late
    Duration answered_after_{};  // the longest one of late
    Duration owner_keep_alive_{};
};

}  // namespace weir::sync
