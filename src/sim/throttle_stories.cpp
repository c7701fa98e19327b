// Owners on throttled pods: they run for 20 of every 100 ms, and what is sent to them waits in
// their sockets meanwhile. Bounds are those of any other fault: a mean within 2 % of the limit
// above it, at most one request in a thousand refused below it.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/story.h"

namespace weir::sim {
namespace {

constexpr double kLimit = 1000;
constexpr double kStep = 5;
constexpr double kEnd = 30;
constexpr double kStopped = 0.08;
constexpr double kPeriod = 0.1;

/// From the first second on; not in step with each other.
void throttle_owners(World& world) {
    world.at(0.5, [](World& w) {
        double late = 0;
        for (const std::uint32_t owner : w.owners_of("q")) {
            w.action_at(w.now() + late,
                        [=](World& again) { again.throttle(owner, kStopped, kPeriod, kEnd); });
            late += 0.037;
        }
    });
}

Story throttled(std::string name, std::uint32_t sidecars, double load) {
    Story story;
    story.name = std::move(name);
    story.text = load < 1 ? "0.95×" : "2×";
    story.text += ", each owner stopped for 80 of every 100 ms";
    story.limit = kLimit;
    limiter::QuotaDefinition definition;
    definition.name = "q";
    limiter::RateLimit rate;
    rate.amount = kLimit;
    rate.low = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 1};
    rate.high = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 2};
    definition.limits.push_back(rate);
    story.plan.sidecars = sidecars;
    story.plan.definitions = {definition};
    story.plan.load.quotas = {"q"};
    story.plan.load.phases = {{0, 0.5 * kLimit}, {kStep, load * kLimit}};
    story.plan.seconds = kEnd;
    story.steady_to = kEnd;
    story.arrange = throttle_owners;
    if (load < 1) {
        story.reference.refused_share = 0.001;
        story.reference.text = "at most 0.1 % refused";
    } else {
        // With the margin of every row ±2 %; seconds as in a fleet at 2× that lacks nothing.
        story.reference.steady = Figures{0.99, 1.01, 0.92, 1.09};
        story.reference.text = "0.98–1.02; as `2x-50`: 0.92 … 1.09";
    }
    return story;
}

}  // namespace

std::vector<Story> throttle_stories() {
    return {throttled("throttled-3", 3, 2), throttled("throttled-10", 10, 2),
            throttled("below-throttled-3", 3, 0.95), throttled("below-throttled-10", 10, 0.95)};
}

}  // namespace weir::sim
