// How long each side of a split keeps to its share, in mode `safe` at twice the limit: the larger
// side takes the rest, the smaller one holds, and one that hears nobody goes by its seeds.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/fleet.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr double kLimit = 600;
constexpr double kCut = 8;
constexpr double kNoticed = kCut + 3;
constexpr double kTail = 12;

struct Cut {
    std::uint32_t sidecars = 3;
    std::uint32_t apart = 1;  // so many of them, the first ones
    double seconds = 30;
    double load = 2;  // times the limit
};

/// What each side admits, as a share of the limit; by seconds of the story.
class Sides {
  public:
    Sides(World& world, const Cut& cut) : apart_(cut.apart), admitted_(2) {
        for (auto& side : admitted_) {
            side.resize(static_cast<std::size_t>(world.plan().seconds) + 1);
        }
        world.at(kCut, [cut](World& w) {
            std::vector<bool> side(w.size(), false);
            std::fill_n(side.begin(), cut.apart, true);
            w.cut(side, cut.seconds, false);
        });
        world.observe([this](double at, std::uint32_t sidecar, std::uint32_t, bool admitted_one) {
            auto& side = admitted_[sidecar < apart_ ? 0 : 1];
            side[static_cast<std::size_t>(at)] += admitted_one ? 1 : 0;
        });
    }
    /// The side with the first sidecar.
    [[nodiscard]] double first(double from, double to) const { return share(0, from, to); }
    [[nodiscard]] double rest(double from, double to) const { return share(1, from, to); }
    [[nodiscard]] double all(double from, double to) const {
        return first(from, to) + rest(from, to);
    }

  private:
    [[nodiscard]] double share(std::size_t side, double from, double to) const {
        double sum = 0;
        const auto end = static_cast<std::size_t>(to);
        for (auto second = static_cast<std::size_t>(from); second < end; ++second) {
            sum += admitted_[side][second];
        }
        return sum / ((to - from) * kLimit);
    }
    std::uint32_t apart_;
    std::vector<std::vector<double>> admitted_;
};

WorldPlan plan_of_cut(const Cut& cut, std::uint64_t seed) {
    const double end = kCut + cut.seconds + kTail;
    return plan_of({.sidecars = cut.sidecars,
                    .limit = kLimit,
                    .offered = cut.load * kLimit,
                    .seconds = end,
                    .seed = seed});
}

constexpr std::uint64_t kManySeeds = kSeeds == 1 ? 1 : 6;

TEST_CASE("one of three cut off for 30 s: 1.33 of the limit, the two 1.00, the one its third") {
    const Cut cut;
    const double end = kCut + cut.seconds;
    double mean = 0;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of_cut(cut, seed));
        const Sides sides(world, cut);
        REQUIRE(world.run(kMeeting));
        MESSAGE("fleet ", sides.all(kNoticed, end), ", the two ", sides.rest(kNoticed, end),
                ", the one ", sides.first(kNoticed, end), ", healed ", sides.all(end, end + 1), " ",
                sides.all(end + 1, end + 2), " ", sides.all(end + 2, end + 3), " ",
                sides.all(end + 3, end + kTail));
        CHECK(sides.all(kNoticed, end) == plus_minus(4.0 / 3, 0.03));
        CHECK(sides.rest(kNoticed, end) == plus_minus(1, 0.02));
        // In 20 s its arrivals alone differ by 1.5 % from run to run.
        CHECK(sides.first(kNoticed, end) <= 1.0 / 3 + 0.015);
        mean += sides.first(kNoticed, end) / kManySeeds;
        CHECK(sides.all(end + 2, end + kTail) == plus_minus(1, 0.03));
    }
    CHECK(mean <= 1.0 / 3 + 0.008);
}

TEST_CASE("below the limit nothing is refused because of it, and nothing is lost when it heals") {
    Cut cut;
    cut.load = 0.95;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of_cut(cut, seed));
        const Sides sides(world, cut);
        REQUIRE(world.run(kMeeting));
        CHECK(refused(world, 0, kCut + cut.seconds + kTail) == 0);
    }
}

TEST_CASE("one that is cut off for longer opens after hold_alone") {
    Cut cut;
    cut.seconds = 40;
    WorldPlan plan = plan_of_cut(cut, 1);
    plan.sync.hold_alone = std::chrono::seconds(25);
    World world(plan);
    const Sides sides(world, cut);
    REQUIRE(world.run(kMeeting));
    CHECK(sides.first(kCut + 3, kCut + 24) == plus_minus(1.0 / 3, 0.02));
    CHECK(sides.first(kCut + 29, kCut + 40) == plus_minus(2.0 / 3, 0.03));
}

TEST_CASE("one that is cut off opens at once when its seeds name only itself, and not before") {
    const Cut cut;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        for (const double asked : {kCut + 5, kCut + 20}) {
            CAPTURE(seed);
            CAPTURE(asked);
            World world(plan_of_cut(cut, seed));
            const Sides sides(world, cut);
            world.at(asked, [](World& w) {
                SimulatedSidecar& alone = w.sidecar(0);
                alone.engine().set_seeds({SimulatedSidecar::address_of(0)}, true,
                                         alone.local(w.instant()));
            });
            REQUIRE(world.run(kMeeting));
            CHECK(sides.first(kNoticed, asked) <= 1.0 / 3 + 0.03);
            CHECK(sides.first(asked + 2, kCut + cut.seconds) == plus_minus(2.0 / 3, 0.03));
        }
    }
}

TEST_CASE("one whose settings name only its own address opens after the hold time, not before") {
    const Cut cut;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of_cut(cut, seed));
        const Sides sides(world, cut);
        world.at(kCut + 4, [](World& w) {
            SimulatedSidecar& alone = w.sidecar(0);
            alone.engine().set_seeds({SimulatedSidecar::address_of(0)}, false,
                                     alone.local(w.instant()));
        });
        REQUIRE(world.run(kMeeting));
        CHECK(sides.first(kNoticed, kCut + 10) <= 1.0 / 3 + 0.03);
        CHECK(sides.first(kCut + 13, kCut + cut.seconds) == plus_minus(2.0 / 3, 0.03));
    }
}

TEST_CASE("a quota with a hold time of its own goes by that, at both parts of a member") {
    // A fleet in which the one that is cut off may own the limit or not.
    for (const std::uint32_t sidecars : {3U, 8U}) {
        for (const int hold : {0, 4, 40}) {
            CAPTURE(sidecars);
            CAPTURE(hold);
            Cut cut;
            cut.sidecars = sidecars;
            WorldPlan plan = plan_of_cut(cut, 1);
            plan.sync.hold_alone = Duration::zero();
            limiter::QuotaOptions options;
            options.hold = std::chrono::seconds(hold);
            plan.definitions[0].options = options;
            World world(plan);
            const Sides sides(world, cut);
            REQUIRE(world.run(kMeeting));
            const double part = 1.0 / sidecars;
            const double open = std::min(1.0, 2 * part);
            const double soon = hold == 0 ? open : part;
            CHECK(sides.first(kCut + 3, kCut + 5) == plus_minus(soon, 0.15 * soon));
            const double later = hold == 40 ? part : open;
            CHECK(sides.first(kCut + 12, kCut + 30) == plus_minus(later, 0.1 * later));
            CHECK(sides.rest(kCut + 12, kCut + 30) == plus_minus(1, 0.03));
        }
    }
}

TEST_CASE("two of five cut off together: the three go on with the whole limit") {
    Cut cut;
    cut.sidecars = 5;
    cut.apart = 2;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of_cut(cut, seed));
        const Sides sides(world, cut);
        REQUIRE(world.run(kMeeting));
        MESSAGE("the three ", sides.rest(kNoticed, kCut + 10), ", the two ",
                sides.first(kNoticed, kCut + 10));
        CHECK(sides.rest(kNoticed, kCut + cut.seconds) == plus_minus(1, 0.03));
        CHECK(sides.first(kNoticed, kCut + 10) == plus_minus(0.4, 0.04));
        // They hear each other, so they open after the hold time.
        CHECK(sides.first(kCut + 13, kCut + cut.seconds) == plus_minus(0.8, 0.04));
    }
}

TEST_CASE(
    "two of five cut off: the larger side of a pessimistic quota refuses for two seconds at most") {
    Cut cut;
    cut.sidecars = 5;
    cut.apart = 2;
    cut.load = 0.9;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        WorldPlan plan = plan_of_cut(cut, seed);
        plan.definitions[0].when_isolated = limiter::IsolationMode::pessimistic;
        World world(plan);
        const Sides sides(world, cut);
        REQUIRE(world.run(kMeeting));
        const double offered_there = cut.load * 3 / 5;
        CHECK(sides.rest(kNoticed, kCut + cut.seconds) == plus_minus(offered_there, 0.03));
        CHECK(sides.rest(kCut, kNoticed) > offered_there / 3);
        CHECK(sides.first(kNoticed, kCut + 10) < 0.01);
    }
}

TEST_CASE("larger fleets: the side that hears more than half has the whole limit") {
    Cut cut;
    cut.sidecars = 20;
    for (const std::uint32_t apart : {1U, 7U}) {
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CAPTURE(apart);
            CAPTURE(seed);
            cut.apart = apart;
            World world(plan_of_cut(cut, seed));
            const Sides sides(world, cut);
            REQUIRE(world.run(kMeeting));
            const double part = apart / 20.0;
            MESSAGE("apart ", apart, ": the rest ", sides.rest(kCut + 4, kCut + 10), " ",
                    sides.rest(kCut + 10, kCut + 30), ", they ", sides.first(kCut + 4, kCut + 10),
                    " ", sides.first(kCut + 12, kCut + 30));
            CHECK(sides.rest(kCut + 10, kCut + 30) == plus_minus(1, 0.03));
            CHECK(sides.first(kCut + 4, kCut + 10) == plus_minus(part, 0.1 * part + 0.01));
        }
    }
}

/// Those who own nothing of the limit hear none of its owners any more. Membership misses the
/// cut-off members one by one, so at first this side looks like the larger one to them.
TEST_CASE("a side without any owner of the limit keeps its share, until it knows its size") {
    Cut cut;
    cut.sidecars = 10;
    for (const std::uint32_t apart : {3U, 5U, 7U}) {
        for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
            CAPTURE(apart);
            CAPTURE(seed);
            World world(plan_of_cut(cut, seed));
            std::vector<bool> side(cut.sidecars, false);
            world.at(kCut, [&](World& w) {
                const std::vector<std::uint32_t> owners = w.owners_of("q");
                std::uint32_t count = 0;
                for (std::uint32_t i = 0; i < cut.sidecars && count < apart; ++i) {
                    side[i] = std::find(owners.begin(), owners.end(), i) == owners.end();
                    count += side[i] ? 1U : 0U;
                }
                REQUIRE(count == apart);
                w.cut(side, cut.seconds, false);
            });
            double early = 0;
            double late = 0;
            world.observe([&](double at, std::uint32_t sidecar, std::uint32_t, bool admitted) {
                const double weight = side[sidecar] && admitted ? 1 : 0;
                early += at >= kNoticed && at < kCut + 10 ? weight : 0;
                late += at >= kCut + 6 && at < kCut + 10 ? weight : 0;
            });
            REQUIRE(world.run(kMeeting));
            early /= 7 * kLimit;
            late /= 4 * kLimit;
            MESSAGE(apart, " of ten apart: ", early, ", later ", late);
            if (2 * apart > cut.sidecars) {
                CHECK(early == plus_minus(1, 0.08));
                CHECK(late == plus_minus(1, 0.05));
            } else {
                CHECK(early == plus_minus(apart / 10.0, 0.06));
            }
        }
    }
}

TEST_CASE("the last of eight gets the room of the others, when their load comes to it") {
    for (std::uint64_t seed = 1; seed <= 4 * kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of({.sidecars = 8,
                             .limit = kLimit,
                             .offered = 0.9 * kLimit,
                             .seconds = 40,
                             .seed = seed}));
        for (std::uint32_t i = 0; i < 7; ++i) {
            world.at(kCut, [i](World& w) { w.kill(i); });
        }
        REQUIRE(world.run(kMeeting));
        MESSAGE("refused in seconds 1, 2 to 10, 10 to 30: ", refused(world, kCut, kCut + 1), " ",
                refused(world, kCut + 1, kCut + 10), " ", refused(world, kCut + 10, kCut + 30));
        CHECK(refused(world, kCut, 40) == 0);
    }
}

TEST_CASE("a rolling restart of the larger side during a cut changes no side's share") {
    Cut cut;
    cut.sidecars = 5;
    cut.apart = 2;
    cut.seconds = 9;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of_cut(cut, seed));
        const Sides sides(world, cut);
        for (const std::uint32_t one : {2U, 3U, 4U}) {
            world.at(kCut + one, [one](World& w) {
                w.say_goodbye(one);
                w.restart(one);
            });
        }
        REQUIRE(world.run(kMeeting));
        MESSAGE("the rest ", sides.rest(kCut, kCut + 2), " ", sides.rest(kCut + 2, kCut + 4), " ",
                sides.rest(kCut + 4, kCut + 9), ", the two ", sides.first(kNoticed, kCut + 9));
        CHECK(sides.first(kNoticed, kCut + 9) == plus_minus(0.4, 0.05));
        CHECK(sides.rest(kCut + 4, kCut + 9) == plus_minus(1, 0.04));
        CHECK(sides.all(kCut + 12, kCut + 9 + kTail) == plus_minus(1, 0.05));
    }
}

/// How often a sidecar that runs says that it does not hear most of the others; all are asked four
/// times a second.
std::size_t doubts(World& world, double from, double to) {
    auto count = std::make_shared<std::size_t>(0);
    for (double at = from; at < to; at += 0.25) {
        world.at(at, [count](World& w) {
            for (std::uint32_t i = 0; i < w.size(); ++i) {
                SimulatedSidecar& each = w.sidecar(i);
                *count += each.running() && !each.engine().statistics().hears_most ? 1U : 0U;
            }
        });
    }
    REQUIRE(world.run(kMeeting));
    return *count;
}

TEST_CASE("a rolling restart, scaling down and scaling up leave everybody with most of the fleet") {
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World restarted(plan_of({.sidecars = 5,
                                 .limit = kLimit,
                                 .offered = 0.9 * kLimit,
                                 .seconds = 40,
                                 .seed = seed}));
        World scaled(plan_of({.sidecars = 5,
                              .limit = kLimit,
                              .offered = 0.9 * kLimit,
                              .seconds = 40,
                              .seed = seed}));
        for (std::uint32_t i = 0; i < 5; ++i) {
            restarted.at(5 + 3 * i, [i](World& w) { w.say_goodbye(i); });
            restarted.at(6.5 + 3 * i, [i](World& w) { w.restart(i); });
        }
        for (std::uint32_t i = 1; i < 5; ++i) {
            scaled.at(5 + 0.5 * i, [i](World& w) { w.say_goodbye(i); });
            scaled.at(20 + 0.5 * i, [i](World& w) { w.restart(i); });
        }
        CHECK(doubts(restarted, 1, 40) == 0);
        CHECK(doubts(scaled, 1, 40) == 0);
        // The same question is answered otherwise in a cut.
        Cut cut;
        World apart(plan_of_cut(cut, seed));
        const Sides sides(apart, cut);
        CHECK(doubts(apart, kNoticed, kCut + cut.seconds) > 0);
    }
}

TEST_CASE("pessimistic: two of three owners die, and nothing is refused after five seconds") {
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        const double load = 0.9 * kLimit;
        WorldPlan plan = plan_of(
            {.sidecars = 20, .limit = kLimit, .offered = load, .seconds = 40, .seed = seed});
        plan.definitions[0].when_isolated = limiter::IsolationMode::pessimistic;
        keep_awake(plan, 0.3);
        World world(plan);
        world.at(kCut, [](World& w) {
            const std::vector<std::uint32_t> owners = w.owners_of("q");
            REQUIRE(owners.size() == 3);
            w.kill(owners[0]);
            w.kill(owners[1]);
        });
        REQUIRE(world.run(kMeeting));
        MESSAGE("refused in seconds 1 to 3, 4 and 5, then: ", refused(world, kCut, kCut + 3), " ",
                refused(world, kCut + 3, kCut + 5), " ", refused(world, kCut + 5, 40));
        CHECK(refused(world, kCut, kCut + 5) < 0.8 * load);  // of what comes in one second
        CHECK(refused(world, kCut + 5, 40) == 0);
    }
}

}  // namespace
}  // namespace weir::sim
