// What synchronisation costs as the fleet grows, and the busiest owner of a quota that everybody
// uses: stories that are judged by traffic. Load is even and Poisson.

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/story.h"

namespace weir::sim {
namespace {

constexpr double kLimit = 1000;
/// Overload has settled by then; traffic is counted from there to the end.
constexpr double kSettled = 8;
constexpr double kEnd = 18;

Story with_quotas(std::string name, std::uint32_t sidecars, std::uint32_t quotas, double load) {
    Story story;
    story.name = std::move(name);
    story.limit = quotas * kLimit;
    story.plan.sidecars = sidecars;
    for (std::uint32_t i = 0; i < quotas; ++i) {
        limiter::QuotaDefinition definition;
        definition.name = "q" + std::to_string(i);
        limiter::RateLimit rate;
        rate.amount = kLimit;
        definition.limits.push_back(rate);
        story.plan.load.quotas.push_back(definition.name);
        story.plan.definitions.push_back(std::move(definition));
    }
    story.plan.load.phases = {{0, load * story.limit}};
    story.plan.seconds = kEnd;
    story.steady_from = kSettled;
    story.steady_to = kEnd;
    story.traffic_from = kSettled;
    return story;
}

/// 100 quotas, each offered twice its limit by the whole fleet.
Story hot_quotas(std::uint32_t sidecars, double bytes) {
    Story story = with_quotas("hot-100-" + std::to_string(sidecars), sidecars, 100, 2);
    story.text = "100 quotas at 2× each";
    story.reference.steady = Figures{0.99, 1.01, 0, 0};
    story.reference.seconds_known = false;
    // The furthest of a hundred, a ten times larger sample than one quota in ten runs.
    story.reference.each_quota = Figures{0.985, 1.015, 0.86, 1.14};
    story.reference.bytes = bytes;
    story.reference.text = "under 96 KB/s";
    return story;
}

Story below(std::uint32_t sidecars) {
    Story story = with_quotas("many-below-" + std::to_string(sidecars), sidecars, 200, 0.9);
    story.text = "200 quotas at 0.9× each";
    story.reference.refused_share = 0.001;
    story.reference.bytes = 96'000;
    story.reference.text = "at most 0.1 % refused";
    return story;
}

/// One quota that every sidecar of the fleet uses: its three owners hear from all.
Story crowd(std::uint32_t sidecars) {
    Story story = with_quotas("crowd-" + std::to_string(sidecars), sidecars, 1, 5);
    story.limit = 10'000;
    story.text = "5×: one quota that all sidecars use";
    story.plan.definitions[0].limits[0].amount = story.limit;
    story.plan.load.phases = {{0, 5 * story.limit}};
    story.reference.steady = Figures{0.99, 1.01, 0, 0};
    story.reference.seconds_known = false;
    story.reference.busiest_bytes = 1e6;
    story.reference.text = "busiest owner under 1 MB/s";
    return story;
}

/// The same with three that own everything, the others know nobody else: what the owners of a quota
/// of thousands have to bear, without everybody's table of everybody. No setting of a sidecar asks
/// for it; the story sets the engine's option for preferred owners.
Story star(Story story) {
    story.text += ", three own everything";
    story.plan.star = true;
    return story;
}

/// 5,000 reporters are more than an owner's 5,000 datagrams a second each way: it paces them. Ten
/// thousand datagrams of about 140 bytes are 1.4 MB.
Story pressed(Story story) {
    story.reference.busiest_bytes = 1.4e6 * story.plan.budgets;
    story.reference.text = "owners paced, staleness under 3 s, the busiest under " +
                           std::string(story.plan.budgets < 1 ? "140 KB/s" : "1.4 MB/s");
    story.reference.staleness = 3;
    story.reference.paced = true;
    return story;
}

/// The same for a machine of everyday: a tenth of everything.
Story tenth_of(Story story) {
    story.name += "-tenth";
    story.text += ", with a tenth of the usual budgets";
    story.plan.budgets = 0.1;
    return story;
}

}  // namespace

std::vector<Story> cost_stories() {
    return {hot_quotas(50, 96'000),
            hot_quotas(1000, 96'000),
            below(50),
            crowd(200),
            crowd(1000),
            star(crowd(500)),
            pressed(star(crowd(5000))),
            pressed(tenth_of(star(crowd(500))))};
}

}  // namespace weir::sim
