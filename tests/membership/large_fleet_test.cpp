// Hundreds of members, with budgets that make them press their peers as thousands do.
#include "membership/membership.h"

#include <doctest/doctest.h>

#include <map>

#include "membership/virtual_network.h"
#include "sanitized.h"

namespace weir::membership {
namespace {

using namespace test;
using Kind = MembershipEvent::Kind;

/// 250 sidecars with a quarter of the budgets: a thousand on the scale of a test.
void quarter(TransportSettings& settings) {
    settings.membership_budget = {131'072.0 / 4, 131'072.0 / 4};
    settings.membership.answers_per_second /= 4;
    settings.membership.open_answers_per_second /= 4;
    settings.membership.open_answers_limit /= 4;
    settings.membership.suspicion_probers /= 4;
    settings.membership.answered_news_per_second /= 4;
}

TEST_CASE("hundreds that begin at once meet within seconds, and nobody stays suspected") {
    for (std::uint64_t seed = 1; seed <= eighth_if_sanitized(2U); ++seed) {
        CAPTURE(seed);
        VirtualNetwork world(seed);
        world.adjust = quarter;
        world.start_all(250);
        const Instant begin = world.now();
        while (!world.complete() && world.now() - begin < 15s) {
            world.run(250ms);
        }
        CHECK(world.complete());
        MESSAGE("met after ", to_seconds(world.now() - begin), " s");
        world.run(8s);  // whatever was suspected meanwhile is refuted
        world.events.clear();
        world.run(5s);
        CHECK(world.complete());
        CHECK(world.count(MembershipEvent::Kind::suspected) == 0);
        CHECK(world.count(MembershipEvent::Kind::dead) == 0);
    }
}

/// A tenth of the budgets: 500 press three owners as 5,000 do.
void star(TransportSettings& settings) {
    settings.membership_budget = {131'072.0 / 10, 131'072.0 / 10};
    settings.membership.answers_per_second /= 10;
    settings.membership.open_answers_per_second /= 10;
    settings.membership.open_answers_limit /= 10;
    settings.membership.probe_period = 3s;
    settings.membership.lists = false;
}

TEST_CASE("hundreds who know only three meet them on a tenth of the budgets, none suspected") {
    constexpr std::size_t kMembers = 500;
    constexpr std::size_t kKnown = 3;
    VirtualNetwork world(6);
    world.adjust = star;
    world.start_all(kMembers);
    const auto all_met = [&] {
        for (std::size_t i = 0; i < kMembers; ++i) {
            const std::size_t expected = i < kKnown ? kMembers - 1 : kKnown;
            if (world.at(i).membership().live_count() != expected) {
                return false;
            }
        }
        return true;
    };
    const Instant begin = world.now();
    while (!all_met() && world.now() - begin < 40s) {
        world.run(500ms);
    }
    const double took = to_seconds(world.now() - begin);
    MESSAGE("met after ", took, " s");
    CHECK(all_met());
    CHECK(took < 20);
    CHECK(world.count(Kind::suspected) == 0);
    world.run(20s);
    CHECK(all_met());
    CHECK(world.count(Kind::suspected) == 0);
}

TEST_CASE("a suspicion that all of a large fleet hear does not make all of them ask") {
    VirtualNetwork world(5);
    world.start_all(250);
    REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
    world.run(8s);
    world.events.clear();
    const Endpoint suspect = address_of(77);
    std::size_t to_suspect = 0;
    // Once, nobody hears it for 0.7 s.
    const Instant deaf_until = world.now() + 700ms;
    world.passes = [&](const Endpoint& from, const Endpoint& to) {
        return (to != suspect && from != suspect) || world.now() >= deaf_until;
    };
    world.tap = [&](const Endpoint&, const Endpoint& to, ByteSpan) {
        to_suspect += to == suspect ? 1U : 0U;
    };
    world.run(2s);
    const auto suspicions = world.count(MembershipEvent::Kind::suspected);
    MESSAGE(suspicions, " suspicions, ", to_suspect, " datagrams to the suspect");
    CHECK(suspicions > 100);  // the news was everywhere
    CHECK(to_suspect < 250);  // usual: 2 probes and 30 rumours a second
    world.run(8s);
    CHECK(world.count(MembershipEvent::Kind::dead) == 0);
    CHECK(world.complete());
}

TEST_CASE("membership's traffic does not grow with the fleet") {
    std::map<std::size_t, double> per_node;
    for (const std::size_t size : {10U, 60U}) {
        VirtualNetwork world(size);
        world.start_all(size);
        REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
        world.run(10s);
        const std::uint64_t before = world.bytes;
        world.run(20s);
        per_node[size] = static_cast<double>(world.bytes - before) / 20 / static_cast<double>(size);
    }
    MESSAGE("bytes a second and node: ", per_node[10], " of 10, ", per_node[60], " of 60");
    CHECK(per_node[60] < per_node[10] * 1.2);
    CHECK(per_node[60] < 2000);
}

}  // namespace
}  // namespace weir::membership
