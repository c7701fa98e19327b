#include "sync/owned_limit.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace weir::sync {
bool OwnedLimit::must_publish(const SyncSettings& settings, double publish_error, std::uint8_t pace,
                              Duration since_last_look) {
    if (!parameters) {
        return false;
    }
    const limiter::LimitParameters& limit = *parameters;
    const double probability = bucket.probability(limit);
    const double seconds = to_seconds(since_last_look);
    if (was_published && seconds > 0) {
        published.typical = bucket.typical;
        published.advance(limit, published.offered_rate, seconds);
    }
    if (answered && seconds > 0) {
        answered->typical = bucket.typical;
        answered->advance(limit, answered->offered_rate, seconds);
    }
    // Low again, while some still reckon that it is not, matters as well.
    const double half = 0.5 * limit.low;
    const bool relevant = bucket.level > half || published_probability > 0 ||
                          (was_published && published.level > half) ||
                          (answered && answered->level > half);
    published_probability = relevant ? probability : 0;
    if (holding != published_holding) {
        return true;
    }
    if (!relevant) {
        return false;
    }
    if (!was_published || bucket.shedding != published.shedding) {
        return true;
    }
    return misleads(settings, publish_error, pace, published) ||
           (answered && misleads(settings, publish_error, pace, *answered));
}

/// Whether who reckons by that is wrong by more than the bounds by now.
bool OwnedLimit::misleads(const SyncSettings& settings, double publish_error, std::uint8_t pace,
                          const ReckonedLimit& told) const {
    WEIR_ASSERT(parameters.has_value());
    const limiter::LimitParameters& limit = *parameters;
    const double slack = 1 + pace * 0.1;
    const double probability = bucket.probability(limit);
    const double requests = bucket.offered_rate / bucket.typical;
    WEIR_ASSERT(requests >= 0);
    const double noise =
        1 / std::sqrt(2 * std::max(1.0, requests) * to_seconds(settings.rate_window));
    const double width = limiter::threshold_width(limit, bucket.typical);
    const double probability_bound =
        2 * std::max(slack * publish_error, noise) * std::max(0.1, 1 - probability);
    // Where nothing is reckoned between messages each single request is news.
    // Whoever rests with the limit does not ask, and learns of chance, too, only from the owner.
    const double budget = 2 * slack * settings.error_budget;
    const double level_bound = limiter::counts_singly(limit, bucket)
                                   ? 0.5 * bucket.typical
                                   : (remembers() ? budget : std::max(budget, noise)) * width;
    return std::abs(told.probability(limit) - probability) > probability_bound ||
           std::abs(told.level - bucket.level) > level_bound;
}

void OwnedLimit::note_answered() {
    const auto distance = [this](const ReckonedLimit& told) {
        return std::abs(told.offered_rate - published.offered_rate);
    };
    if (!answered || distance(bucket) > distance(*answered)) {
        answered = bucket;
    }
    WEIR_ASSERT(answered.has_value());
}

bool OwnedLimit::is_urgent(const SyncSettings& settings, Duration next_look) const {
    if (!parameters) {
        return false;
    }
    // Where single requests count, two sidecars that see the same room would both fill it.
    if (bucket.shedding && limiter::counts_singly(*parameters, bucket)) {
        return bucket.level - published.level > 0.5 * bucket.typical;
    }
    const double wrong =
        std::abs(published.probability(*parameters) - bucket.probability(*parameters));
    const double width = limiter::threshold_width(*parameters, bucket.typical);
    return wrong * bucket.offered_rate * to_seconds(next_look) > 2 * settings.error_budget * width;
}

void OwnedLimit::note_published() {
    published = bucket;
    answered.reset();
    published_holding = holding;
    was_published = true;
}

TotalEntry OwnedLimit::total(const SyncSettings& settings, const OwnedCell* cell, std::uint8_t pace,
                             Instant now) const {
    TotalEntry entry;
    entry.key = key;
    entry.life = life;
    entry.filled = filled(settings, now);
    entry.shedding = bucket.shedding;
    entry.held = holding;
    entry.level = bucket.shedding ? bucket.level : std::max(0.0, bucket.level);
    entry.rate = bucket.offered_rate;
    entry.origins = std::max(1u, origins);
    const bool heavy = parameters && bucket.heaviest > limiter::debt(*parameters, bucket.typical);
    entry.heaviest = heavy ? bucket.heaviest : 0;
    entry.keep_alive = settings.keep_alive_floor;
    entry.pace = pace;
    if (cell == nullptr) {
        return entry;
    }
    WEIR_ASSERT(cell->counts.run <= kLargestIdentity);
    entry.run = cell->counts.run;
    entry.admitted = cell->counts.admitted;
    entry.refunded = cell->counts.refunded;
    entry.offered = cell->counts.offered;
    return entry;
}

}  // namespace weir::sync
