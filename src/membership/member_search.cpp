#include "membership/member_search.h"

#include <algorithm>
#include <utility>

namespace weir::membership {
namespace {

/// How many addresses of lost members are pinged at once.
constexpr std::size_t kAskedAtOnce = 16;

}  // namespace

void MemberSearch::start(Instant now) {
    restart(now);
    next_lost_ = now;
}

void MemberSearch::restart(Instant now) {
    next_seeds_ = now;
    hurry();
}

void MemberSearch::set_seeds(std::vector<Endpoint> seeds) {
    std::sort(seeds.begin(), seeds.end());
    seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
    seeds.resize(std::min(seeds.size(), kMaximumSeeds));
    if (seeds != seeds_) {
        hurry();
    }
    seeds_ = std::move(seeds);
}

void MemberSearch::tick(Instant now) {
    tick_seeds(now);
    tick_lost(now);
}

Duration MemberSearch::about(Duration interval) {
    return from_seconds(to_seconds(interval) * (0.75 + context_.random.unit() / 2));
}

void MemberSearch::ping_some(std::vector<Endpoint> addresses, std::size_t count, Instant now) {
    for (std::size_t i = 0; i < count && !addresses.empty(); ++i) {
        const std::size_t chosen = context_.random.below(addresses.size());
        WEIR_ASSERT(chosen < addresses.size());
        WEIR_ASSERT(!members_.contains(addresses[chosen]));
        pings_.search(addresses[chosen], now);
        addresses.erase(addresses.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
}

void MemberSearch::tick_seeds(Instant now) {
    if (now < next_seeds_) {
        return;
    }
    std::vector<Endpoint> missing;
    for (const Endpoint& seed : seeds_) {
        if (seed != context_.self.address() && !members_.contains(seed)) {
            missing.push_back(seed);
        }
    }
    next_seeds_ = now + about(seed_wait_);
    const MembershipSettings& settings = context_.settings;
    seed_wait_ = missing.empty() ? settings.seed_interval
                                 : std::min(2 * seed_wait_, settings.seed_interval_limit);
    ping_some(std::move(missing), settings.seeds_at_once, now);
}

void MemberSearch::tick_lost(Instant now) {
    if (now < next_lost_) {
        return;
    }
    const MembershipSettings& settings = context_.settings;
    const double share = static_cast<double>(members_.size() + 1) / settings.lost_pings_per_second;
    next_lost_ = now + about(std::clamp(from_seconds(share), settings.lost_interval,
                                        settings.seed_interval));
    ping_some(census_.lost(), 1, now);
}

void MemberSearch::ask_lost(std::vector<Endpoint> lost, Instant now) {
    if (now < next_ask_lost_) {
        return;
    }
    next_ask_lost_ = now + context_.settings.seed_interval;
    ping_some(std::move(lost), kAskedAtOnce, now);
}

}  // namespace weir::membership
