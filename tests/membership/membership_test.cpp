// Membership as a whole: several transports in a virtual network. Robustness 52 to 57.
#include "membership/membership.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "membership/virtual_network.h"
#include "tolerance.h"

namespace weir::membership {
namespace {

using namespace test;
using Kind = MembershipEvent::Kind;

bool knows_dead(VirtualNetwork& world, const gossip::MemberId& dead) {
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
    const gossip::MemberId leaver = world.at(3).self();
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
    CHECK(world.at(0).counters().rejected[gossip::Rejection::address_conflict] > 0);
    const auto strangers = world.at(0).strangers().recent(world.now());
    REQUIRE(strangers.size() == 1);
    CHECK(strangers[0].from == address_of(3));
    CHECK(strangers[0].reason == gossip::Rejection::address_conflict);
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

/// 250 sidecars with a quarter of the budgets: a thousand on the scale of a test.
void quarter(TransportSettings& settings) {
    settings.membership_budget = {131'072.0 / 4, 131'072.0 / 4};
    settings.membership.answers_per_second /= 4;
    settings.membership.open_answers_per_second /= 4;
    settings.membership.open_answers_limit /= 4;
    settings.membership.suspicion_probers /= 4;
    settings.membership.answered_news_per_second /= 4;
}

/// One membership alone, and what two others tell it.
struct Told {
    Told() : membership(MembershipSettings{}, address_of(0), {}, Random(1)) {
        membership.start(now);
    }
    void tell(MemberState state, const gossip::MemberId& id) {
        tell(gossip::MessageType::member_updates, MemberUpdate{id, state, {}, 1, 7}, teller);
    }
    template <class T>
    void tell(gossip::MessageType type, const T& value, const gossip::MemberId& sender) {
        std::array<std::byte, 256> payload{};
        ByteWriter writer(payload);
        encode(writer, value);
        const Origin origin{sender, sender.address, true, 0};
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
    told.tell(gossip::MessageType::answer, Answer{nonce, 0, {}, 1}, told.restarted);
    CHECK(told.membership.find(told.restarted) != nullptr);
    CHECK(told.membership.find(told.former) == nullptr);
}

TEST_CASE("who answers a question older than the member that is there is asked again") {
    Told told;
    told.membership.met({told.former, told.former.address, true, 0}, told.now);
    const std::uint64_t nonce = told.asked(told.former.address);
    told.now += 50ms;
    told.tell(MemberState::alive, told.restarted);
    told.now += 50ms;
    (void)told.membership.take_datagrams();
    told.tell(gossip::MessageType::answer, Answer{nonce, 0, {}, 1}, told.former);
    CHECK(told.membership.find(told.restarted) != nullptr);
    CHECK(told.asked(told.former.address) != 0);
}

TEST_CASE("hundreds that begin at once meet within seconds, and nobody stays suspected") {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
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
