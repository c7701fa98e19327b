// What three owners of one limit tell each other while nothing is lost, and when something is.

#include <doctest/doctest.h>

#include <vector>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr double kLimit = 1000;
constexpr double kFlows = 6;  // each of the three tells two others

/// What the whole fleet has sent.
struct Sent {
    double deltas = 0;
    double again = 0;  // of those, because the one before was lost
    double messages = 0;
    double datagrams = 0;
    double bytes = 0;  // of counters
};

Sent sent(World& world) {
    Sent sum;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const engine::EngineStatistics told = world.sidecar(i).engine().statistics();
        sum.deltas += static_cast<double>(told.messages_out.at("delta"));
        sum.again += static_cast<double>(told.sync.deltas_resent);
        for (const char* type : {"delta", "delta_answer", "ping", "answer"}) {
            const auto found = told.messages_out.find(type);
            sum.messages +=
                found == told.messages_out.end() ? 0 : static_cast<double>(found->second);
        }
        sum.datagrams += static_cast<double>(told.datagrams_out);
        sum.bytes += static_cast<double>(told.counter_bytes_out);
    }
    return sum;
}

/// What was sent between two times of the story.
struct Window {
    double from = 0;
    double to = 0;
    Sent first{};
    Sent last{};
    void watch(World& world) {
        world.at(from, [this](World& w) { first = sent(w); });
        world.at(to, [this](World& w) { last = sent(w); });
    }
    [[nodiscard]] double deltas_of_a_flow() const {
        return (last.deltas - first.deltas) / kFlows / (to - from);
    }
    [[nodiscard]] double bytes_of_each() const {
        return (last.bytes - first.bytes) / 3 / (to - from);
    }
};

TEST_CASE("three owners of one limit tell each other little, and more when something is lost") {
    for (const double load : {0.95, 3.0}) {
        double datagrams = 0;
        double messages = 0;
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CAPTURE(load);
            CAPTURE(seed);
            World world(plan_of({.sidecars = 3,
                                 .limit = kLimit,
                                 .offered = load * kLimit,
                                 .seconds = 45,
                                 .seed = seed}));
            Window before{12, 22}, lossy{23, 27}, after{34, 44};
            for (Window* each : {&before, &lossy, &after}) {
                each->watch(world);
            }
            world.at(22, [](World& w) { w.disturb({.loss = 0.3}, 3); });
            REQUIRE(world.run(kMeeting));
            for (const Window* steady : {&before, &after}) {
                MESSAGE("load " << load << ", from " << steady->from
                                << " s: " << steady->deltas_of_a_flow() << " deltas a second, "
                                << steady->bytes_of_each() << " bytes");
                CHECK(steady->last.again == steady->first.again);
                CHECK(steady->deltas_of_a_flow() > 2.9);
                CHECK(steady->deltas_of_a_flow() < 3.7);
                CHECK(steady->bytes_of_each() < 1300);
                messages += steady->last.messages - steady->first.messages;
                datagrams += steady->last.datagrams - steady->first.datagrams;
            }
            CHECK(lossy.last.again > before.last.again);
            CHECK(lossy.deltas_of_a_flow() > 4.3);
        }
        // Most answers share a datagram with a delta: with pings, answers and deltas that each go
        // alone there is one for each message. (Single windows of ten seconds have 0.70 to 0.81.)
        CAPTURE(load);
        MESSAGE("load " << load << ": " << datagrams / messages << " datagrams a message");
        CHECK(datagrams < 0.79 * messages);
    }
}

/// What is admitted in the second after a leap to a hundredfold, in limits.
double admitted_of_a_leap(double at, std::uint64_t seed, Duration steady_after) {
    WorldPlan plan =
        plan_of({.sidecars = 3, .limit = kLimit, .offered = 0, .seconds = at + 2, .seed = seed});
    plan.load.phases = {{0, 0.95 * kLimit}, {at, 100 * kLimit}};
    plan.sync.steady_after = steady_after;
    World world(plan);
    REQUIRE(world.run(kMeeting));
    return admitted(world, at, at + 1) / kLimit;
}

TEST_CASE("a load that leaps is told at once, also where answers wait") {
    constexpr std::uint64_t kLeaps = 16;
    double never = 0;  // where owners never tell each other seldom
    double steady = 0;
    for (std::uint64_t seed = 1; seed <= kLeaps; ++seed) {
        const double at = 15 + 0.02 * static_cast<double>(seed);  // somewhere between two deltas
        never += admitted_of_a_leap(at, seed, std::chrono::hours(1)) / kLeaps;
        steady += admitted_of_a_leap(at, seed, std::chrono::seconds(5)) / kLeaps;
    }
    MESSAGE("admitted of a leap: " << never << " and " << steady << " of the limit");
    CHECK(steady < 1.02 * never);
}

}  // namespace
}  // namespace weir::sim
