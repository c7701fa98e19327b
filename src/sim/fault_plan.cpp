#include "sim/fault_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

constexpr double kRequests = 200;  // a second
constexpr double kCountedRequests = 40;
constexpr double kMinute = 60;
constexpr double kLongestFault = 20;
constexpr double kShortestFault = 0.3;
/// The longest time in seconds from the beginning of a minute to its fault.
constexpr double kLatestBegin = 8;
constexpr double kWholeClock = 3600;
constexpr double kLongestPause = 8;

/// The kinds before `throttle`, which has stories of its own.
constexpr std::size_t kDrawnKinds = static_cast<std::size_t>(FaultKind::throttle);

constexpr int kChildren = 5;
constexpr int kBelow = 8;
constexpr int kOver = 6;
constexpr int kRare = 4;
constexpr int kCountedOver = 3;
constexpr double kOverAmount = 5;

double rounded(double value) { return std::round(value * 100) / 100; }

/// The quotas, and the requests per second that each leaf is offered.
class FaultQuotas {
  public:
    explicit FaultQuotas(WorldPlan& plan) : plan_(plan) {}

    limiter::QuotaDefinition& add(std::string name, double amount) {
        limiter::QuotaDefinition& definition = plan_.definitions.emplace_back();
        definition.name = std::move(name);
        definition.limits.emplace_back().amount = amount;
        return definition;
    }
    void leaf(const std::string& name, double offered) {
        plan_.load.quotas.push_back(name);
        plan_.load.shares.push_back(offered);
    }

  private:
    WorldPlan& plan_;
};

limiter::BurstSpec seconds(double value) { return {limiter::BurstSpec::Kind::seconds, value}; }

void set_borders(limiter::RateLimit& limit, double low, double high) {
    limit.low = seconds(low);
    limit.high = seconds(high);
}

/// A parent with children, quotas below their limits, quotas far above theirs, with a hard edge or
/// without, and instances of a template that are used once in seconds.
void add_quotas(WorldPlan& plan, Random& random) {
    FaultQuotas quotas(plan);
    set_borders(quotas.add("tree", 50).limits[0], 2, 3);
    for (int i = 0; i < kChildren; ++i) {
        const std::string name = "tree/" + std::to_string(i);
        limiter::QuotaDefinition& child = quotas.add(name, 14);
        child.parent = "tree";
        set_borders(child.limits[0], 4, 5);
        quotas.leaf(name, 7);
    }
    for (int i = 0; i < kBelow; ++i) {
        const std::string name = "below/" + std::to_string(i);
        set_borders(quotas.add(name, 10).limits[0], 5 + i, 6 + i);
        quotas.leaf(name, 6 + 2 * random.unit());
    }
    for (int i = 0; i < kOver; ++i) {
        const std::string name = "over/" + std::to_string(i);
        limiter::RateLimit& limit = quotas.add(name, kOverAmount).limits[0];
        if (i % 2 == 0) {
            set_borders(limit, 1, 3);
        }
        quotas.leaf(name, kOverAmount * (2 + 2 * random.unit()));
    }
    quotas.add("rare/{id}", 60).limits[0].period = std::chrono::minutes(1);
    for (int i = 0; i < kRare; ++i) {
        quotas.leaf("rare/" + std::to_string(i), 0.1 + 0.2 * random.unit());
    }
}

/// Windows with each kind of beginning, some of them offered more than they admit, beside rates and
/// limits of requests in flight.
void add_counted_quotas(WorldPlan& plan, Random& random) {
    using limiter::RateLimit;
    FaultQuotas quotas(plan);
    const auto add = [&](const std::string& name, RateLimit limit, double offered) {
        quotas.add(name, 0).limits = {std::move(limit)};
        quotas.leaf(name, offered * (1 + random.unit()));
    };
    RateLimit calendar = RateLimit::in_window(300, std::chrono::minutes(1));
    calendar.from = limiter::WindowStart::calendar;
    RateLimit first = RateLimit::in_window(100, std::chrono::minutes(1));
    first.from = limiter::WindowStart::first;
    add("over/0", calendar, 7);
    add("over/1", RateLimit::in_window(120, std::chrono::minutes(2)), 2);
    add("over/2", first, 3);
    add("below/0", RateLimit::in_window(300, std::chrono::minutes(1)), 2);
    add("few", RateLimit::in_window(5, std::chrono::minutes(1)), 0.5);
    add("flight/0", RateLimit::in_flight(8), 12);
    add("flight/1", RateLimit::in_flight(2), 3);
    quotas.add("tree", 50).limits.push_back(RateLimit::in_window(500, std::chrono::minutes(1)));
    quotas.add("tree/{id}", 0).limits = {RateLimit::in_flight(4), first};
    plan.definitions.back().parent = "tree";
    quotas.leaf("tree/0", 2 + random.unit());
    quotas.leaf("tree/1", 0.2);
    plan.load.takes = 0.6;
}

/// Scales the rates of all leaves by one factor, so that their sum is `requests`.
void scale_load(LoadPlan& load, double requests) {
    const double all = std::accumulate(load.shares.begin(), load.shares.end(), 0.0);
    for (double& share : load.shares) {
        share = rounded(share * requests / all);
    }
    const double rate = std::accumulate(load.shares.begin(), load.shares.end(), 0.0);
    load.phases = {{0, rate, std::exchange(load.shares, {})}};
}

/// Some, but not all, of the sidecars.
std::vector<std::uint32_t> draw_side(std::uint32_t sidecars, Random& random) {
    std::vector<std::uint32_t> all(sidecars);
    for (std::uint32_t i = 0; i < sidecars; ++i) {
        all[i] = i;
        std::swap(all[i], all[random.below(i + 1)]);
    }
    all.resize(1 + random.below(sidecars - 1));
    std::sort(all.begin(), all.end());
    return all;
}

Fault draw_fault(std::uint32_t sidecars, FaultKind kind, double minute, int over, Random& random) {
    Fault fault;
    fault.kind = kind;
    fault.at = rounded(minute + kLatestBegin * random.unit());
    fault.target.number = static_cast<std::uint32_t>(random.below(sidecars));
    fault.seconds = rounded(kShortestFault + (kLongestFault - kShortestFault) * random.unit());
    switch (kind) {
        case FaultKind::cut:
        case FaultKind::cut_one_way:
            fault.side = draw_side(sidecars, random);
            break;
        case FaultKind::loss:
            fault.amount = rounded(0.05 + 0.3 * random.unit());
            break;
        case FaultKind::duplication:
        case FaultKind::reordering:
            fault.amount = rounded(0.05 + 0.25 * random.unit());
            break;
        case FaultKind::delay:
            fault.amount = 0.2;
            break;
        case FaultKind::pause:
            fault.seconds =
                rounded(kShortestFault + (kLongestPause - kShortestFault) * random.unit());
            break;
        case FaultKind::leap:
            fault.amount = rounded(kWholeClock * random.unit() * random.unit());
            fault.seconds = 0;
            break;
        case FaultKind::edit:
            fault.quota = "over/" + std::to_string(random.below(static_cast<std::uint64_t>(over)));
            fault.amount = rounded(kOverAmount * (0.5 + random.unit()));
            fault.seconds = 0;
            break;
        case FaultKind::set_ahead:
        case FaultKind::set_back:
            fault.amount = rounded(kWholeClock * random.unit());
            break;
        case FaultKind::restart:
        case FaultKind::rotate_keys:
            fault.seconds = 0;
            break;
        default:
            break;
    }
    return fault;
}

/// The kinds of faults that are drawn where the fleet has such limits.
std::vector<FaultKind> kinds_for(FaultLimits limits) {
    std::vector<FaultKind> kinds;
    for (std::size_t i = 0; i < kDrawnKinds; ++i) {
        kinds.push_back(static_cast<FaultKind>(i));
    }
    if (limits == FaultLimits::counted) {
        std::erase(kinds, FaultKind::leap);
        kinds.push_back(FaultKind::set_ahead);
        kinds.push_back(FaultKind::set_back);
    }
    return kinds;
}

/// The kinds in an order by chance.
std::vector<FaultKind> shuffled(std::vector<FaultKind> kinds, Random& random) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        std::swap(kinds[i], kinds[random.below(i + 1)]);
    }
    return kinds;
}

}  // namespace

Story draw_fault_story(std::uint64_t seed, double minutes, FaultLimits limits) {
    Random random(seed);
    Story story;
    story.name = "faults-" + std::to_string(seed);
    story.text = "a random fault each minute";
    story.seed = random.next();
    WorldPlan& plan = story.plan;
    plan.sidecars = 3 + static_cast<std::uint32_t>(random.below(8));
    plan.clock_drift = 1e-4;
    plan.record = false;
    plan.seconds = minutes * kMinute;
    if (limits == FaultLimits::counted) {
        add_counted_quotas(plan, random);
        scale_load(plan.load, kCountedRequests);
    } else {
        add_quotas(plan, random);
        scale_load(plan.load, kRequests);
    }
    const int over = limits == FaultLimits::counted ? kCountedOver : kOver;
    // Every kind in turn, in an order that is drawn anew each time.
    std::vector<FaultKind> kinds;
    for (double minute = kMinute / 2; minute + kMinute <= plan.seconds; minute += kMinute) {
        if (kinds.empty()) {
            kinds = shuffled(kinds_for(limits), random);
        }
        story.faults.push_back(draw_fault(plan.sidecars, kinds.back(), minute, over, random));
        kinds.pop_back();
    }
    return story;
}

}  // namespace weir::sim
