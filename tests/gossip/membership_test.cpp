// Membership as a whole: several transports in a virtual network. Robustness 52 to 57.
#include "gossip/membership.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "gossip/virtual_network.h"

namespace weir::gossip {
namespace {

using namespace test;
using Kind = MembershipEvent::Kind;

bool knows_dead(VirtualNetwork& world, const MemberId& dead) {
    for (auto& [number, node] : world.nodes()) {
        if (node->transport.membership().find(dead) != nullptr) {
            return false;
        }
    }
    return true;
}

TEST_CASE("clusters of one, two and ten come together") {
    for (const std::size_t size : {1U, 2U, 3U, 10U, 40U}) {
        CAPTURE(size);
        VirtualNetwork world(size);
        world.start_all(size);
        CHECK(world.run_until(10s, [&] { return world.complete(); }));
        world.run(20s);
        CHECK(world.complete());
        CHECK(world.count(Kind::suspected) == 0);
        CHECK(world.count(Kind::dead) == 0);
    }
}

TEST_CASE("a dead peer is known to all ten within five seconds") {
    Duration worst{};
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        VirtualNetwork world(seed);
        world.start_all(10);
        REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
        world.run(5s);
        const MemberId dead = world.at(4).self();
        world.kill(4);
        const Instant killed = world.now();
        REQUIRE(world.run_until(20s, [&] { return knows_dead(world, dead); }));
        worst = std::max(worst, world.now() - killed);
    }
    MESSAGE("worst of 40 seeds: ", to_seconds(worst), " s");
    CHECK(worst <= 5s);
}

TEST_CASE("no false positive in an hour at 5 % loss") {
    VirtualNetwork world(20);
    world.loss = 0.05;
    world.tick = 20ms;
    world.start_all(10);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.run(1h);
    MESSAGE("suspicions: ", world.count(Kind::suspected), ", datagrams: ", world.datagrams);
    CHECK(world.count(Kind::dead) == 0);
    CHECK(world.count(Kind::renewed) == 0);
    CHECK(world.complete());
}

TEST_CASE("nobody is lost at 30 % loss with duplicates") {
    VirtualNetwork world(21);
    world.loss = 0.3;
    world.duplication = 0.1;
    world.start_all(10);
    REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
    world.run(120s);
    CHECK(world.count(Kind::dead) == 0);
}

TEST_CASE("a goodbye is known at once, and nobody is suspected") {
    VirtualNetwork world(22);
    world.start_all(10);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    const MemberId leaver = world.at(3).self();
    world.at(3).goodbye(world.now());
    world.run(30ms);
    world.kill(3);
    CHECK(world.run_until(500ms, [&] { return knows_dead(world, leaver); }));
    CHECK(world.count(Kind::left) == 9);
    world.run(10s);
    CHECK(world.count(Kind::suspected) == 0);
}

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

TEST_CASE("robustness 54: a node that restarts every three seconds costs no memory") {
    VirtualNetwork world(26);
    world.start_all(5);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    for (int i = 0; i < 200; ++i) {
        world.start(4, {address_of(0), address_of(1), address_of(2)});
        world.run(3s);
    }
    CHECK(world.run_until(5s, [&] { return world.complete(); }));
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(world.at(i).membership().live_count() == 4);
        CHECK(world.at(i).membership().dead_table_size() <= DeadTable::kPerAddress);
    }
    CHECK(world.count(Kind::dead) == 0);  // replaced at once, never waited for
}

TEST_CASE("robustness 55: two processes with one address are seen, and nothing else happens") {
    VirtualNetwork world(27);
    world.start_all(4);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    // A second process claims address 3; what is sent there reaches the first one.
    TransportSettings settings;
    settings.cluster_name = "test";
    settings.self = address_of(3);
    SeededNonces nonces(Random(5));
    Transport twin(settings, world.keys, nonces, Random(6));
    twin.start(world.now());
    twin.set_seeds({address_of(0)});
    const Endpoint real = Endpoint::v4(0x0a0000ff, 7946);
    world.tap = [&](const Endpoint&, const Endpoint& to, ByteSpan bytes) {
        if (to == real) {
            twin.receive(bytes, address_of(0), world.now());
        }
    };
    world.on_tick = [&](std::size_t number, Node&) {
        if (number == 0) {
            twin.tick(world.now());
            for (OutgoingDatagram& datagram : twin.flush(world.now())) {
                world.inject(real, datagram.to, std::move(datagram.bytes));
            }
        }
    };
    const std::size_t before = world.events.size();
    world.run(30s);
    CHECK(world.at(0).membership().counters().conflicts > 0);
    CHECK(world.at(0).counters().rejected[Rejection::address_conflict] > 0);
    CHECK(world.complete());
    for (std::size_t i = before; i < world.events.size(); ++i) {
        CHECK(world.events[i].event.kind == Kind::conflict);
    }
}

TEST_CASE("robustness 57: with UDP cut everybody is alone, and it heals") {
    VirtualNetwork world(28);
    world.start_all(3);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.passes = [](const Endpoint&, const Endpoint&) { return false; };
    world.run(20s);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(world.at(i).membership().live_count() == 0);
        CHECK(world.at(i).owners().owns(world.at(i).self(), 0));
    }
    world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    CHECK(world.run_until(10s, [&] { return world.complete(); }));
}

TEST_CASE("seeds that come to life late are found, for ever") {
    VirtualNetwork world(29);
    world.start(0, {address_of(1), address_of(2), address_of(0)});
    world.run(600s);
    world.start(1, {});
    CHECK(world.run_until(3s, [&] { return world.complete(); }));
}

TEST_CASE("an hour of captured traffic moves nothing, even at restarted receivers") {
    VirtualNetwork world(30);
    struct Captured {
        Endpoint from;
        Endpoint to;
        std::vector<std::byte> bytes;
    };
    std::vector<Captured> capture;
    world.tap = [&](const Endpoint& from, const Endpoint& to, ByteSpan bytes) {
        capture.push_back({from, to, {bytes.begin(), bytes.end()}});
    };
    world.start_all(4);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.run(3600s);
    world.tap = nullptr;
    world.kill(3);
    world.run(10s);
    world.start(2, {address_of(0), address_of(1)});
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.events.clear();
    std::uint64_t delivered = 0;
    for (auto& [number, node] : world.nodes()) {
        node->on_message = [&](const Received&) { ++delivered; };
    }
    for (std::size_t i = 0; i < capture.size(); ++i) {
        world.inject(capture[i].from, capture[i].to, capture[i].bytes);
        if (i % 50 == 0) {
            world.run(10ms);
        }
    }
    world.run(10s);
    for (const NamedEvent& event : world.events) {
        CAPTURE(event.observer);
        CHECK(event.event.kind == Kind::conflict);
    }
    CHECK(delivered == 0);
    CHECK(world.complete());
}

TEST_CASE("leaving members own nothing but stay members") {
    VirtualNetwork world(31);
    world.start_all(5);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    world.at(2).begin_leaving(world.now());
    world.run(1s);
    for (std::size_t i = 0; i < 5; ++i) {
        for (Shard shard = 0; shard < kShards; ++shard) {
            CHECK_FALSE(world.at(i).owners().owns(world.at(2).self(), shard));
            CHECK(world.at(i).owners().of(shard) == world.at(0).owners().of(shard));
        }
    }
    CHECK(world.complete());
}

TEST_CASE("a restarted process keeps its shards under its new incarnation") {
    VirtualNetwork world(32);
    world.start_all(6);
    REQUIRE(world.run_until(10s, [&] { return world.complete(); }));
    std::array<OwnerList, kShards> before;
    for (Shard shard = 0; shard < kShards; ++shard) {
        before[shard] = world.at(0).owners().of(shard);
    }
    world.start(5, {address_of(0)});
    REQUIRE(world.run_until(5s, [&] { return world.complete(); }));
    for (Shard shard = 0; shard < kShards; ++shard) {
        const OwnerList& after = world.at(0).owners().of(shard);
        for (std::size_t i = 0; i < after.size(); ++i) {
            CHECK(after[i].address == before[shard][i].address);
        }
    }
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
}  // namespace weir::gossip
