#include "sync/owner_view.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// More unanswered deltas than this are not remembered: the oldest goes.
constexpr std::size_t kMaximumFlights = 24;
/// A rate is reckoned with for at most this long when offered weight is compared.
constexpr double kLongestPrediction = 99;
/// Without own load a hot limit is asked after more seldom.
constexpr int kIdlePollFactor = 2;
/// Limits that are not hot tell an owner that they are there together with those who have to: below
/// a half, since then all of one owner come to do so at one moment, once in a keep-alive.
constexpr double kTogether = 0.4;
/// So often at least an answer must not wait, so that the round trip is measured.
constexpr Duration kMeasureEvery = std::chrono::seconds(10);
/// An error so many times larger than is worth a delta cannot wait.
constexpr double kUrgentFactor = 4;
/// Of what may fill before anybody is refused: by so much all origins of a limit that is not hot
/// may be off together, if all stray alike at once. It is hot from a half on.
constexpr double kCalmShare = 0.6;
/// Fewer requests than that are no more than chance is good for.
constexpr double kFewRequests = 4;
/// With room for fewer requests than this any level matters.
constexpr double kSmallLimit = 10;

/// Whether these counts, and a rate of none, are all that there is to tell.
bool is_all(const OriginCounts& told, const OriginCounts& own) {
    return own.offered == told.offered && own.net() == told.net() &&
           told.rate <= kQuietRate * own.typical;
}

bool same_counts(const OriginCounts& counts, const TotalEntry& total) {
    return counts.admitted == total.admitted && counts.refunded == total.refunded &&
           counts.offered == total.offered;
}

}  // namespace

Thresholds thresholds_of(const SyncSettings& settings, const limiter::LimitParameters& limit,
                         double typical, double fleet_rate, std::uint32_t origins,
                         std::uint8_t pace) {
    WEIR_ASSERT(typical >= 0 && fleet_rate >= 0);
    const double share = settings.error_budget * (1 + pace * 0.1) /
                         std::sqrt(static_cast<double>(std::max(1u, origins)));
    const double window = 2 * to_seconds(settings.rate_window);
    return {std::max(0.5 * typical, share * limiter::threshold_width(limit, typical)),
            std::max(2 * typical, share * window * std::max(limit.rate, fleet_rate))};
}

double calm_of(const limiter::LimitParameters& limit, double typical, std::uint32_t origins) {
    const double share = kCalmShare * limit.low / std::max(1u, origins);
    return limit.edge() || share < kFewRequests * typical ? 0 : share;
}

double OwnerView::told_others_rate() const {
    return std::max(0.0, bucket_.offered_rate - known_.rate);
}

double OwnerView::others_rate() const { return std::max(0.0, told_others_rate() - moved_rate_); }

void OwnerView::advance(const limiter::LimitParameters& limit, const OriginCounts& own,
                        Instant now) {
    if (!first_unacknowledged_ && own.net() != known_.net()) {
        first_unacknowledged_ = own.since;
    }
    if (heard_) {
        const double seconds = std::max(0.0, to_seconds(now - advanced_));
        bucket_.typical = own.typical;
        if (seconds > 0) {
            bucket_.advance(limit, others_rate(), seconds);
        }
        bucket_.heaviest = std::max(bucket_.heaviest, own.heaviest);
        // An edge that refused here sheds from now on, whether the owner knows it yet or not.
        bucket_.shedding = bucket_.shedding || owner_sheds_ || (own.shedding && limit.edge());
        if (own.net() != net_seen_) {
            // The view may have rested for long; what is new came after the last look at the
            // counts.
            const double over = std::clamp(to_seconds(now - own.since), 0.0, seconds);
            bucket_.add(limit, own.net() - net_seen_, over);
        }
    }
    net_seen_ = own.net();
    advanced_ = std::max(advanced_, now);
    WEIR_ASSERT(advanced_ >= now);
}

void OwnerView::reckon_moved_load(const SyncSettings& settings, const OriginCounts& own,
                                  Instant now) {
    const double more = own.rate - known_.rate;
    const bool moved = known_at_ && !fresh(settings, now) && has_grown(more, own.typical, own.rate);
    moved_rate_ = moved ? more : 0;
}

Duration OwnerView::keep_alive(const SyncSettings& settings, double rate) const {
    const Duration usual =
        keep_alive_of(settings, std::max(known_.rate, rate), bucket_.offered_rate, pace_);
    return steady_ ? std::max(usual, settings.owners_keep_alive) : usual;
}

bool OwnerView::waits_patiently(const SyncSettings& settings, Instant now) const {
    return !flights_.empty() && flights_.back().may_wait &&
           now - flights_.front().at < kAnswerMayWait + settings.resend_after + round_trip_;
}

/// Near a hard edge each request is news. Datagrams that tell of many hot limits are full; of
/// others there may be more, as long as each is mentioned in every keep-alive.
bool OwnerView::may_be_seldom(const SyncSettings& settings, const limiter::LimitParameters& limit,
                              bool hot, std::size_t told_limits) {
    const Duration keep = settings.owners_keep_alive;
    return hot ? told_limits <= settings.few_limits && !limit.edge()
               : mention_time(settings, keep, told_limits) <= keep;
}

bool OwnerView::begin_telling(const SyncSettings& settings, const limiter::LimitParameters& limit,
                              bool hot, OwnerLink& link, Instant now, std::size_t told_limits) {
    const bool lost = misses_answer(settings, now);
    // That nothing was lost while nothing was told says nothing about the network.
    const bool paused = now - link.told_at > kIdlePollFactor * settings.keep_alive;
    if (lost || paused) {
        link.settled_since = now;
    }
    link.told_at = now;
    WEIR_ASSERT(link.settled_since <= link.told_at);
    steady_ = pairing_ != Pairing::none && may_be_seldom(settings, limit, hot, told_limits) &&
              now - link.settled_since >= settings.steady_after;
    WEIR_ASSERT(!(lost && steady_));
    return lost;
}

Duration OwnerView::resend_wait(const SyncSettings& settings, double rate) const {
    const Duration once = settings.resend_after + round_trip_;
    if (unanswered_ < settings.quick_resends) {
        return once;
    }
    const auto factor = Duration::rep{unanswered_ - settings.quick_resends} + 2;
    // Never so long that the owner would take us for silent: what it hears counts without answers.
    return std::max(once, std::min(keep_alive(settings, rate), once * factor));
}

bool OwnerView::quiet(const OriginCounts& own) const { return is_all(known_, own); }

bool OwnerView::is_told(const OriginCounts& own, Instant now) const {
    const bool sent_now = sent_at_ == now && !flights_.empty();
    return own.net() == known_.net() || (sent_now && own.net() == flights_.back().counts.net());
}

bool OwnerView::matters(const limiter::LimitParameters& limit) const {
    const bool small = limit.low < kSmallLimit * bucket_.typical;
    return bucket_.shedding || bucket_.level > (small ? 0 : 0.5 * limit.low);
}

bool OwnerView::may_rest(const SyncSettings& settings, Instant now) const {
    return filled_ && !held_ && others_rate() <= 0 && fresh(settings, now);
}

OwnerView::Told OwnerView::told(const SyncSettings& settings, Instant now) const {
    if (waits_patiently(settings, now)) {
        return {flights_.back().counts, sent_at_};
    }
    return {known_, known_at_};
}

double OwnerView::news(const SyncSettings& settings, const limiter::LimitParameters& limit,
                       const OriginCounts& own, const Thresholds& thresholds, Instant now) const {
    const auto [told, told_at] = this->told(settings, now);
    const double age = told_at ? to_seconds(now - *told_at) : kLongestPrediction;
    const double predicted = told.rate * (own.open_time - told.open_time);
    const double admitted_error = std::abs(own.net() - told.net() - predicted);
    const double offered_error =
        std::abs(own.offered - told.offered - told.rate * std::min(age, kLongestPrediction));
    const double noise = settings.offered_deviations *
                             std::sqrt(own.typical * std::max(own.typical, told.rate * age)) +
                         own.typical;
    // At a hard edge others reckon with each request that is told (limiter::reckoned_share()), and
    // what all origins of a calm limit may be off by together does not grow.
    const double coarse = limit.edge() ? 1 : coarseness(settings, told_limits_);
    const double admitted_bound =
        std::max(coarse * thresholds.admitted, std::min(noise, thresholds.calm));
    const double offered_bound =
        std::min(coarse * noise, std::max(coarse * thresholds.offered, thresholds.calm));
    WEIR_ASSERT(admitted_bound > 0 && offered_bound > 0);
    return std::max(admitted_error / admitted_bound, offered_error / offered_bound);
}

Need OwnerView::need(const SyncSettings& settings, const limiter::LimitParameters& limit,
                     const OriginCounts& own, const Thresholds& thresholds, Instant now) const {
    if (!sent_at_) {
        return Need::must;
    }
    const bool unanswered = misses_answer(settings, now);
    if (unanswered && now - *sent_at_ < resend_wait(settings, own.rate)) {
        return Need::none;
    }
    const auto [told, told_at] = this->told(settings, now);
    if (is_all(told, own)) {
        // Nothing to tell; but a level that matters must not go stale.
        if (unanswered) {
            return Need::must;
        }
        const Duration age = now - std::max(heard_.value_or(*sent_at_), *sent_at_);
        return matters(limit) && age >= kIdlePollFactor * keep_alive(settings, 0) ? Need::must
                                                                                  : Need::none;
    }
    const double age = told_at ? to_seconds(now - *told_at) : kLongestPrediction;
    const Duration keep = keep_alive(settings, own.rate);
    const double mention_seconds = to_seconds(mention_time(settings, keep, told_limits_));
    const double error = news(settings, limit, own, thresholds, now);
    if (error > kUrgentFactor) {
        return Need::urgent;
    }
    if (error > 1 || age >= mention_seconds) {
        return Need::must;
    }
    if (error > 0.5 || age >= ride_seconds(settings, keep)) {
        return Need::ride_along;
    }
    if (thresholds.calm > 0 && age >= mention_seconds * kTogether) {
        return Need::together;
    }
    return age >= to_seconds(keep) ? Need::presence : Need::none;
}

/// When a delta goes with any packet. Of two owners that tell each other in turn the second one
/// goes with its answer even sooner.
double OwnerView::ride_seconds(const SyncSettings& settings, Duration keep) const {
    const bool sooner = steady_ && pairing_ == Pairing::second;
    return sooner ? kTogether * to_seconds(keep)
                  : to_seconds(ride_along_time(settings, keep, told_limits_));
}

void OwnerView::sent(const OriginCounts& counts, Instant now, std::size_t told_limits,
                     bool may_wait) {
    told_limits_ = static_cast<std::uint16_t>(std::min<std::size_t>(told_limits, 0xffff));
    if (flights_.size() == kMaximumFlights) {
        flights_.erase(flights_.begin());
    }
    if (resting_ && !asked_at_rest_) {
        asked_at_rest_ = now;
    }
    flights_.push_back({counts, now, may_wait});
    ++unanswered_;
    WEIR_ASSERT(flights_.size() <= kMaximumFlights);
    sent_at_ = now;
}

bool OwnerView::contradicts(bool now_far, Instant now) {
    constexpr Duration kNewsTakes = std::chrono::seconds(2);
    if (!now_far) {
        far_since_.reset();
    } else if (!far_since_) {
        far_since_ = now;
    }
    return far_since_ && now - *far_since_ >= kNewsTakes;
}

bool OwnerView::receive(const SyncSettings& settings, const limiter::LimitParameters& limit,
                        const TotalEntry& total, std::uint32_t run, const OriginCounts& own,
                        Instant now) {
    advance(limit, own, now);
    const bool ours = total.run == run;
    if (total.life != life_) {
        // Its first word to us acknowledges nothing: what it lacks is as old as it was.
        if (life_ != 0) {
            first_unacknowledged_.reset();
        }
        life_ = total.life;
        known_ = {};
        known_.open_time = own.open_time;
        known_at_.reset();
    } else if (ours && total.offered < known_.offered) {
        return false;
    }
    if (ours) {
        acknowledge(total, own, now);
    }
    origins_ = std::max(1u, total.origins);
    pace_ = std::min(total.pace, settings.largest_pace);
    WEIR_ASSERT(life_ == total.life);
    filled_ = total.filled;
    held_ = total.held;
    owner_keep_alive_ = std::clamp(total.keep_alive, Duration::zero(), settings.keep_alive);
    bucket_.offered_rate = total.rate;
    moved_rate_ = 0;
    bucket_.heaviest = std::max(total.heaviest, own.heaviest);
    bucket_.typical = own.typical;
    owner_sheds_ = total.shedding && limit.edge();
    bucket_.shedding = owner_sheds_ || (own.shedding && limit.edge());
    // What we admitted beyond the acknowledged count, less what the owner has reckoned of it. Of an
    // owner that has acknowledged nothing here, one that was cut off from us, neither is known: it
    // may have gone on reckoning with us or not. Its answer to our question will tell.
    const bool ledger = ours && known_at_;
    double unknown = ledger ? own.net() - (total.admitted - total.refunded) : 0;
    // A late lump counts by rule 2, here after two and a half keep-alives in any case.
    const double age = to_seconds(oldest_age(now));
    if (age > settings.silence_factor * to_seconds(settings.keep_alive)) {
        unknown = kept_of_late(unknown, age, limit.rate);
    }
    const double reckoned = ledger ? known_.rate * (own.open_time - known_.open_time) : 0;
    bucket_.level = total.level + unknown - reckoned;
    bucket_.clamp(limit);
    WEIR_ASSERT(bucket_.level <= bucket_.ceiling(limit));
    net_seen_ = own.net();
    heard_ = now;
    distrusted_ = resting_ = false;
    asked_at_rest_.reset();
    advanced_ = now;
    return true;
}

void OwnerView::acknowledge(const TotalEntry& total, const OriginCounts& own, Instant now) {
    std::size_t done = 0;
    for (; done < flights_.size() && flights_[done].counts.offered <= total.offered; ++done) {
        const Flight& flight = flights_[done];
        if (!same_counts(flight.counts, total)) {
            continue;
        }
        known_ = flight.counts;
        known_at_ = flight.may_wait ? flight.at : now;
        if (!flight.may_wait) {
            note_round_trip(now - flight.at, now);
        }
        first_unacknowledged_.reset();
        if (own.net() > known_.net()) {
            first_unacknowledged_ = flight.at;
        }
    }
    flights_.erase(flights_.begin(), flights_.begin() + static_cast<std::ptrdiff_t>(done));
    unanswered_ = static_cast<std::uint32_t>(flights_.size());
    WEIR_ASSERT(flights_.size() <= kMaximumFlights);
    if (flights_.empty()) {
        flights_.shrink_to_fit();
    }
}

bool OwnerView::lets_answer_wait(double news, bool hot, Instant now) const {
    // What is told only because its time has come brings nothing new from the owner either; and of
    // a limit that is not hot only a leap makes its level matter.
    const bool measured = measured_at_ && now - *measured_at_ < kMeasureEvery;
    return steady_ && measured && news <= (hot ? 1 : kUrgentFactor);
}

void OwnerView::note_round_trip(Duration measured, Instant now) {
    measured_at_ = now;
    measured = std::clamp(measured, Duration::zero(), Duration(1s));
    // What was sent again meanwhile is answered at once: the longest counts, for some answers.
    answered_after_ = std::max(measured, answered_after_ - answered_after_ / 8);
    // Lost packets only ever make it look longer: fall at once, grow slowly.
    const bool first = round_trip_ == Duration::zero();
    round_trip_ =
        first || measured < round_trip_ ? measured : round_trip_ + (measured - round_trip_) / 16;
    WEIR_ASSERT(round_trip_ >= Duration::zero() && answered_after_ >= measured);
}

void OwnerView::begin_run(const OriginCounts& own, Instant run_began) {
    known_ = {};
    known_.open_time = own.open_time;
    known_at_.reset();
    first_unacknowledged_.reset();
    // A new owner may hold an old state of this run: what it lacks may be as old as the run.
    if (own.net() != 0) {
        first_unacknowledged_ = run_began;
    }
    flights_.clear();
    unanswered_ = 0;
    sent_at_.reset();
    steady_ = false;
    moved_rate_ = 0;
    net_seen_ = own.net();
}

void OwnerView::ask_anew() {
    sent_at_.reset();
    steady_ = false;
    flights_.clear();
    unanswered_ = 0;
}

void OwnerView::rumour(const limiter::LimitParameters& limit, const HotEntry& hot,
                       const OriginCounts& own, Instant now) {
    bucket_.level = hot.level;
    bucket_.offered_rate = hot.rate;
    moved_rate_ = 0;
    owner_sheds_ = hot.shedding && limit.edge();
    bucket_.shedding = owner_sheds_;
    bucket_.typical = own.typical;
    net_seen_ = 0;  // nobody else knows of what the run begins with
    heard_ = now - std::min(hot.age, Duration(1s));
    advanced_ = *heard_;
}

bool OwnerView::asked_in_vain(const SyncSettings& settings, Instant now) const {
    if (distrusted_ || flights_.empty()) {
        return distrusted_;
    }
    const Instant asked = flights_.front().at;
    return now - std::max(asked, heard_.value_or(asked)) >= settings.view_floor;
}

bool OwnerView::fresh(const SyncSettings& settings, Instant now) const {
    // Asked in vain an owner is gone, whatever it promised.
    if (!heard_ || asked_in_vain(settings, now)) {
        return false;
    }
    if (resting_) {
        return true;
    }
    Duration keep = mention_time(settings, keep_alive(settings, 0), told_limits_);
    if (known_.rate <= 0) {
        keep *= kIdlePollFactor;
    }
    const auto window =
        from_seconds(settings.silence_factor * to_seconds(std::max(keep, owner_keep_alive_)));
    return now - *heard_ < std::max(settings.view_floor, window);
}

bool OwnerView::within_hold(const SyncSettings& settings, Duration hold, Instant now) const {
    if (!heard_ || fresh(settings, now)) {
        return false;
    }
    // Of a limit at rest the silence begins with the first question.
    const Instant silent_since = std::max(*heard_, asked_at_rest_.value_or(*heard_));
    return now - silent_since < hold + settings.view_floor;
}

Duration OwnerView::oldest_age(Instant now) const {
    return first_unacknowledged_ ? std::max(Duration::zero(), now - *first_unacknowledged_)
                                 : Duration::zero();
}

}  // namespace weir::sync
