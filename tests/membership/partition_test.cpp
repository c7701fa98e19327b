// Networks that are cut, one way or both, members that stand still, and how a fleet mends.
// Robustness 52 and 53.
#include "membership/membership.h"

#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "membership/virtual_network.h"
#include "tolerance.h"

namespace weir::membership {
namespace {

using namespace test;
using Kind = MembershipEvent::Kind;

TEST_CASE("a split of any shape heals, and its smaller side takes new incarnations") {
    for (const std::size_t isolated : {1U, 3U, 5U}) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            CAPTURE(isolated);
            CAPTURE(seed);
            VirtualNetwork world(seed);
            world.start_all(10);
            REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
            const auto side = [&](const Endpoint& e) { return e >= address_of(10 - isolated); };
            world.passes = [&](const Endpoint& a, const Endpoint& b) { return side(a) == side(b); };
            world.run(30s);
            CHECK(world.at(0).membership().live_count() == 9 - isolated);
            CHECK(world.at(9).membership().live_count() == isolated - 1);
            world.passes = [](const Endpoint&, const Endpoint&) { return true; };
            const Instant healed = world.now();
            CHECK(world.run_until(15s, [&] { return world.complete(); }));
            MESSAGE("isolated ", isolated, ": whole after ", to_seconds(world.now() - healed));
            for (const NamedEvent& event : world.events) {
                if (event.event.kind == Kind::renewed) {
                    CHECK(event.observer >= 10 - isolated);
                }
            }
            const std::size_t deaths = world.count(Kind::dead);
            world.run(20s);
            CHECK(world.count(Kind::dead) == deaths);
            CHECK(world.complete());
        }
    }
}

/// Seconds after the end of a cut in halves until everybody knows everybody.
double whole_after(std::size_t members, std::uint64_t seed) {
    VirtualNetwork world(seed);
    world.start_all(members);
    REQUIRE(world.run_until(30s, [&] { return world.complete(); }));
    world.passes = [](const Endpoint& a, const Endpoint& b) {
        return (a.address.back() + b.address.back()) % 2 == 0;
    };
    const auto apart = [&] {
        return std::all_of(world.nodes().begin(), world.nodes().end(), [&](const auto& each) {
            return each.second->transport.membership().live_count() == members / 2 - 1;
        });
    };
    REQUIRE(world.run_until(60s, apart));
    world.run(5s);
    world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    const Instant healed = world.now();
    CHECK(world.run_until(15s, [&] { return world.complete(); }));
    return to_seconds(world.now() - healed);
}

/// Seconds until all is whole and stays so after a cut in halves so long that some have given up
/// some and others not; negative if it does not come to that.
double mended_after(std::uint64_t seed) {
    VirtualNetwork world(seed);
    world.start_all(6);
    REQUIRE(world.run_until(30s, [&] { return world.complete(); }));
    world.passes = [](const Endpoint& a, const Endpoint& b) {
        return (a.address.back() + b.address.back()) % 2 == 0;
    };
    world.run(from_seconds(3 + 5 * Random(seed).unit()));
    world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    const Instant healed = world.now();
    world.run(1s);
    if (!world.run_until(10s, [&] { return world.complete(); })) {
        return -1;
    }
    const double seconds = to_seconds(world.now() - healed);
    world.run(5s);
    return world.complete() ? seconds : -1;
}

TEST_CASE("a cut of any length mends: an answer on its way while a process renews undoes nothing") {
    // In seed 18 a process stayed shut out for ever: an answer of its former incarnation came last.
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const double seconds = mended_after(seed);
        CHECK(seconds > 0);
        CHECK(seconds < 6);
    }
}

TEST_CASE("small halves find each other within half a second: while apart both pass the limit") {
    for (const std::size_t members : {2U, 6U, 10U}) {
        double slowest = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            slowest = std::max(slowest, whole_after(members, seed));
        }
        MESSAGE(members, " members: whole after at most ", slowest);
        CHECK(slowest < 0.5);
    }
}

TEST_CASE("who was given up is asked after 16 times a second by all together, for ever") {
    for (const std::size_t members : {2U, 5U, 17U}) {
        CAPTURE(members);
        VirtualNetwork world(5);
        world.start_all(members);
        REQUIRE(world.run_until(30s, [&] { return world.complete(); }));
        world.kill(members - 1);
        world.run(30s);
        std::size_t asked = 0;
        world.tap = [&](const Endpoint&, const Endpoint& to, ByteSpan) {
            asked += to == address_of(members - 1) ? 1U : 0U;
        };
        world.run(100s);
        // Of two that are left each keeps to ten; the first three are seeds as well, asked every
        // 2 s.
        const double seeds = members <= 3 ? 1 : 0;
        const double expected = std::min(16.0, 10.0 * static_cast<double>(members - 1)) +
                                seeds / 2 * static_cast<double>(members - 1);
        CHECK(static_cast<double>(asked) / 100 == testing::plus_minus(expected, 0.1 * expected));
    }
}

TEST_CASE("robustness 52: a one-way partition does not flap") {
    for (const bool hears : {false, true}) {
        CAPTURE(hears);
        VirtualNetwork world(23);
        world.start_all(10);
        REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
        // Between two members only one direction works: the others help.
        world.passes = [&](const Endpoint& a, const Endpoint& b) {
            return hears ? !(a == address_of(1) && b == address_of(2))
                         : !(a == address_of(2) && b == address_of(1));
        };
        world.run(120s);
        CHECK(world.count(Kind::dead) == 0);
        CHECK(world.count(Kind::renewed) == 0);
    }
}

TEST_CASE("robustness 52: a member that only hears, or is only heard, does not flap") {
    const Endpoint odd = address_of(7);
    for (const bool hears : {false, true}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(hears);
            CAPTURE(seed);
            VirtualNetwork world(seed);
            world.start_all(10);
            REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
            world.events.clear();
            world.passes = [&](const Endpoint& from, const Endpoint& to) {
                return (hears ? from : to) != odd;
            };
            world.run(120s);
            CHECK(world.count(Kind::joined) == 0);
            std::map<std::pair<std::size_t, Endpoint>, std::size_t> deaths;
            for (const NamedEvent& event : world.events) {
                if (event.event.kind != Kind::dead) {
                    continue;
                }
                const Endpoint& who = event.event.member.address;
                CHECK((event.observer == 7 || who == odd));
                CHECK(++deaths[{event.observer, who}] == 1);
            }
            CHECK(deaths.size() >= 9);  // it is not kept by its own word either
            world.passes = [](const Endpoint&, const Endpoint&) { return true; };
            CHECK(world.run_until(15s, [&] { return world.complete(); }));
        }
    }
}

TEST_CASE("a sidecar that hears nobody kills nobody") {
    VirtualNetwork world(24);
    world.start_all(10);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.passes = [&](const Endpoint&, const Endpoint& to) { return to != address_of(7); };
    world.run(60s);
    for (const NamedEvent& event : world.events) {
        if (event.event.kind == Kind::dead && event.observer != 7) {
            CHECK(event.event.member.address == address_of(7));
        }
    }
    world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    CHECK(world.run_until(15s, [&] { return world.complete(); }));
    for (const NamedEvent& event : world.events) {
        CHECK((event.event.kind != Kind::renewed || event.observer == 7));
    }
}

TEST_CASE("robustness 53: a slow observer suspects nobody wrongly on resume") {
    VirtualNetwork world(25);
    world.start_all(10);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.node(6).paused = true;
    world.run(20s);
    const std::size_t before = world.events.size();
    world.node(6).paused = false;
    CHECK(world.run_until(5s, [&] { return world.complete(); }));
    world.run(10s);
    for (std::size_t i = before; i < world.events.size(); ++i) {
        const NamedEvent& event = world.events[i];
        CHECK_FALSE((event.observer == 6 && event.event.kind == Kind::suspected));
        CHECK_FALSE((event.observer == 6 && event.event.kind == Kind::dead));
    }
    CHECK(world.at(6).membership().counters().pauses == 1);
}

TEST_CASE(
    "one that died many times is one: the others do not take themselves for the lesser side") {
    VirtualNetwork world(25);
    world.start_all(6);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    for (int i = 0; i < 10; ++i) {
        const gossip::MemberId dead = world.at(5).self();
        world.kill(5);
        REQUIRE(world.run_until(20s, [&] { return knows_dead(world, dead); }));
        world.start(5, {address_of(0)});
        REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
    }
    world.kill(5);
    world.node(4).paused = true;
    world.run(20s);
    CHECK(world.at(0).membership().live_count() == 3);
    world.node(4).paused = false;
    CHECK(world.run_until(5s, [&] { return world.complete(); }));
    world.run(10s);
    for (const NamedEvent& event : world.events) {
        CHECK_FALSE((event.observer < 4 && event.event.kind == Kind::renewed));
    }
}

}  // namespace
}  // namespace weir::membership
