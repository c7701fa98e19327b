// Limits of a few requests: in the long run they admit what they say, and a crowd that comes to
// many sidecars at once is paid back.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

struct SmallLimit {
    double amount;
    Duration period;
    [[nodiscard]] double seconds() const { return to_seconds(period); }
    [[nodiscard]] double rate() const { return amount / seconds(); }
};

using namespace std::chrono_literals;
constexpr std::array kQuick{SmallLimit{1, 1s}, SmallLimit{2, 1s}, SmallLimit{3, 1s},
                            SmallLimit{1, 5s}};
constexpr std::array kSlow{SmallLimit{1, 20s}, SmallLimit{5, 60s}};
constexpr std::uint64_t kQuickSeeds = kSeeds == 1 ? 1 : 5;
/// A hundred periods of a minute take long; docs/cluster.md has the figures of five.
constexpr std::uint64_t kSlowSeeds = 1;

/// The burst with which every limit begins is paid back after so many periods, and each sidecar has
/// met the limit.
constexpr double kFromPeriod = 30;

/// What one limit admitted.
struct Admitted {
    double share = 0;        // of what the limit allows, from kFromPeriod to the end
    std::size_t window = 0;  // the most requests in five periods
    double window_at = 0;    // the end of that time
};

WorldPlan plan_of_small(std::uint32_t sidecars, std::span<const SmallLimit> limits, double load,
                        double seconds, std::uint64_t seed) {
    WorldPlan plan;
    plan.sidecars = sidecars;
    plan.seconds = seconds;
    plan.seed = seed;
    plan.record = false;
    double sum = 0;
    for (const SmallLimit& limit : limits) {
        const std::string name = "q" + std::to_string(plan.load.quotas.size());
        plan.definitions.push_back(quota(name, limit.amount));
        plan.definitions.back().limits.front().period = limit.period;
        plan.load.quotas.push_back(name);
        plan.load.shares.push_back(limit.rate());
        sum += limit.rate();
    }
    plan.load.phases = {{0, load * sum}};
    return plan;
}

std::vector<Admitted> admitted_of(std::uint32_t sidecars, std::span<const SmallLimit> limits,
                                  double load, double seconds, std::uint64_t seed) {
    World world(plan_of_small(sidecars, limits, load, seconds, seed));
    std::vector<Admitted> result(limits.size());
    std::vector<std::deque<double>> window(limits.size());
    world.observe([&](double at, std::uint32_t, std::uint32_t number, bool admitted_one) {
        if (!admitted_one || at < 0) {
            return;
        }
        const SmallLimit& limit = limits[number];
        // At first contact nobody knows of the others: each sidecar admits a request.
        if (at < kFromPeriod * limit.seconds()) {
            return;
        }
        ++result[number].share;
        std::deque<double>& recent = window[number];
        recent.push_back(at);
        while (at - recent.front() > 5 * limit.seconds()) {
            recent.pop_front();
        }
        if (recent.size() > result[number].window) {
            result[number].window = recent.size();
            result[number].window_at = at;
        }
    });
    REQUIRE(world.run(kMeeting));
    for (std::size_t i = 0; i < limits.size(); ++i) {
        result[i].share /= limits[i].rate() * (seconds - kFromPeriod * limits[i].seconds());
    }
    return result;
}

/// `periods`: of the longest of these limits.
void judge(std::uint32_t sidecars, std::span<const SmallLimit> limits, double load, double periods,
           std::uint64_t seed) {
    CAPTURE(sidecars);
    CAPTURE(load);
    CAPTURE(seed);
    const double seconds = (kFromPeriod + periods) * limits.back().seconds();
    const std::vector<Admitted> all = admitted_of(sidecars, limits, load, seconds, seed);
    for (std::size_t i = 0; i < limits.size(); ++i) {
        const SmallLimit& limit = limits[i];
        CAPTURE(limit.amount);
        CAPTURE(limit.seconds());
        MESSAGE(sidecars, " sidecars, ", load, "x of ", limit.amount, " in ", limit.seconds(),
                " s: ", all[i].share, ", most in five periods ", all[i].window, " at ",
                all[i].window_at);
        CHECK(all[i].share <= 1.01);
        CHECK(all[i].share >= (load > 10 ? 0.97 : 0.94));
        if (limit.amount == 1) {
            CHECK(all[i].window <= 8);
        }
    }
}

TEST_CASE("limits of a few requests admit in the long run what they say") {
    for (std::uint64_t seed = 1; seed <= kQuickSeeds; ++seed) {
        for (const std::uint32_t sidecars : {1u, 3u, 10u}) {
            for (const double load : {2.0, 20.0}) {
                judge(sidecars, kQuick, load, 100, seed);
            }
        }
    }
}

TEST_CASE("limits of a few requests in a minute admit in the long run what they say") {
    for (std::uint64_t seed = 1; seed <= kSlowSeeds; ++seed) {
        for (const std::uint32_t sidecars : {1u, 3u, 10u}) {
            for (const double load : {2.0, 20.0}) {
                judge(sidecars, kSlow, load, 100, seed);
            }
        }
    }
}

TEST_CASE("a crowd that comes to five sidecars at once, each minute, is paid back") {
    constexpr double kHour = 3600;
    constexpr double kCrowd = 40;
    constexpr double kWithin = 0.05;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        WorldPlan plan =
            plan_of({.sidecars = 5, .limit = 5, .offered = 0, .seconds = kHour, .seed = seed});
        plan.definitions.front().limits.front().period = 1min;
        plan.load.phases.clear();
        plan.load.constant_rate = true;
        for (double at = 0; at < kHour; at += 60) {
            plan.load.phases.push_back({at, kCrowd / kWithin});
            plan.load.phases.push_back({at + kWithin, 0});
        }
        World world(plan);
        REQUIRE(world.run(kMeeting));
        const double offered_in_all = offered(world, 0, kHour);
        CHECK(offered_in_all >= 0.9 * kCrowd * 60);
        const double sum = admitted(world, 0, kHour);
        MESSAGE("admitted ", sum, " of ", offered_in_all);
        CHECK(sum <= 1.05 * 5 * 60 + 5);
        CHECK(sum >= 0.9 * 5 * 60);
    }
}

}  // namespace
}  // namespace weir::sim
