// Membership as a whole: several transports in a virtual network. Robustness 54, 55 and 57.
#include "membership/membership.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "membership/virtual_network.h"
#include "sanitized.h"

namespace weir::membership {
namespace {

using namespace test;
using Kind = MembershipEvent::Kind;

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
        const gossip::MemberId dead = world.at(4).self();
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
    world.run(eighth_if_sanitized(60) * 1min);
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
    const gossip::MemberId leaver = world.at(3).self();
    world.at(3).goodbye();
    world.run(30ms);
    world.kill(3);
    CHECK(world.run_until(500ms, [&] { return knows_dead(world, leaver); }));
    CHECK(world.count(Kind::left) == 9);
    world.run(10s);
    CHECK(world.count(Kind::suspected) == 0);
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
    gossip::SeededNonces nonces(Random(5));
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
    CHECK(world.at(0).counters().rejected[gossip::DatagramRejection::address_conflict] > 0);
    const auto strangers = world.at(0).strangers().recent(world.now());
    REQUIRE(strangers.size() == 1);
    CHECK(strangers[0].from == address_of(3));
    CHECK(strangers[0].reason == gossip::DatagramRejection::address_conflict);
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

TEST_CASE("a seed that is missing is asked less often, and after a death often again") {
    VirtualNetwork world(31);
    std::vector<Instant> asked;
    const auto waits = [&](std::size_t from) {
        std::vector<double> result;
        for (std::size_t i = from + 1; i < asked.size(); ++i) {
            result.push_back(to_seconds(asked[i] - asked[i - 1]));
        }
        return result;
    };
    world.tap = [&](const Endpoint& from, const Endpoint& to, ByteSpan) {
        if (from == address_of(0) && to == address_of(1)) {
            asked.push_back(world.now());
        }
    };
    world.start(0, {address_of(1), address_of(2)});
    world.run(60s);
    REQUIRE(asked.size() > 25);
    CHECK(waits(0)[0] < 1.3);
    for (const double wait : waits(1)) {
        CHECK(wait > 1.4);
        CHECK(wait < 2.6);
    }
    world.start(2, {});
    REQUIRE(world.run_until(3s, [&] { return world.complete(); }));
    world.run(10s);
    world.kill(2);
    REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
    const std::size_t before = asked.size();
    world.run(10s);
    CHECK(waits(before - 1)[1] < 1.3);
}

TEST_CASE("ping, answer and ping, answer: two who did not know each other do") {
    VirtualNetwork world(32);
    world.start(0, {});
    world.start(1, {address_of(0)});
    std::size_t needed = 0;
    world.tap = [&](const Endpoint&, const Endpoint&, ByteSpan) {
        needed += world.complete() ? 0U : 1U;
    };
    REQUIRE(world.run_until(1s, [&] { return world.complete(); }));
    CHECK(needed <= 4);  // with the news of the first that the second tells by its next tick
    CHECK(world.count(Kind::joined) == 2);
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
    world.at(2).begin_leaving();
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

/// One membership alone, and what two others tell it.
struct Told {
    Told() : membership(MembershipSettings{}, address_of(0), {}, Random(1)) {
        membership.start(now);
    }
    void tell(MemberState state, const gossip::MemberId& id, std::uint64_t counter = 1) {
        const MemberUpdate update{id, state, {}, counter, 7};
        tell(gossip::MessageType::member_updates, std::span(&update, 1), teller);
    }
    template <class T>
    void tell(gossip::MessageType type, const T& value, const gossip::MemberId& sender) {
        std::array<std::byte, 256> payload{};
        ByteWriter writer(payload);
        encode(writer, value);
        const MessageOrigin origin{sender, sender.address, true, 0};
        CHECK_FALSE(membership.receive(origin, {type, writer.written()}, now));
    }
    /// The random number of the ping that asks who is at the address.
    std::uint64_t asked(const Endpoint& address) {
        for (const MembershipDatagram& datagram : membership.take_datagrams()) {
            ByteReader body(datagram.body);
            const auto message = gossip::next_message(body);
            if (datagram.to != address || !message || message->type != gossip::MessageType::ping) {
                continue;
            }
            ByteReader reader(message->payload);
            return decode_ping(reader).nonce;
        }
        return 0;
    }

    const gossip::MemberId teller{address_of(2), 22};
    const gossip::MemberId former{address_of(1), 11};
    const gossip::MemberId restarted{address_of(1), 12};
    Instant now{1s};
    Membership membership;
};

TEST_CASE("a restarted process is taken for what it is, though its former self is suspected then") {
    Told told;
    told.tell(MemberState::alive, told.former);
    told.now += 10ms;
    told.membership.met({told.restarted, told.restarted.address, true, 0}, told.now);
    const std::uint64_t nonce = told.asked(told.restarted.address);
    told.now += 50ms;
    told.tell(MemberState::suspect, told.former);
    told.now += 50ms;
    told.tell(gossip::MessageType::answer, PingAnswer{nonce, 0, {}, 1}, told.restarted);
    CHECK(told.membership.find(told.restarted) != nullptr);
    CHECK(told.membership.find(told.former) == nullptr);
}

TEST_CASE(
    "robustness 47: a death with a counter beyond reason could not be refuted, and is no news") {
    Told told;
    told.tell(MemberState::alive, told.former);
    told.tell(MemberState::dead, told.former, ~std::uint64_t{0});
    REQUIRE(told.membership.find(told.former) != nullptr);
    CHECK(told.membership.find(told.former)->state == MemberState::alive);
    CHECK(told.membership.find(told.former)->counter == 1);
    told.tell(MemberState::dead, told.former, 2);
    REQUIRE(told.membership.find(told.former) != nullptr);
    CHECK(told.membership.find(told.former)->state == MemberState::suspect);
}

TEST_CASE("who answers a question older than the member that is there is asked again") {
    Told told;
    told.membership.met({told.former, told.former.address, true, 0}, told.now);
    const std::uint64_t nonce = told.asked(told.former.address);
    told.now += 50ms;
    told.tell(MemberState::alive, told.restarted);
    told.now += 50ms;
    (void)told.membership.take_datagrams();
    told.tell(gossip::MessageType::answer, PingAnswer{nonce, 0, {}, 1}, told.former);
    CHECK(told.membership.find(told.restarted) != nullptr);
    CHECK(told.asked(told.former.address) != 0);
}

}  // namespace
}  // namespace weir::membership
