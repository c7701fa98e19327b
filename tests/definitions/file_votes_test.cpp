// The fleet decides about sets without a generation: many members, each with its store and its
// exchange, in a network with virtual time, delays and losses.
#include "definitions/file_votes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "definitions/voting_fleet.h"
#include "sanitized.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using gossip::MemberId;
using gossip::MessageType;
using test::kVotedSet;
using test::quota;
using test::settle;
using Fleet = test::VotingFleet;

}  // namespace

TEST_CASE("a lone member has its file in force at once, and each edit of it") {
    Fleet fleet(1);
    fleet.write(0, 1);
    CHECK(fleet.all(1));
    fleet.run(60s);
    fleet.write(0, 2);
    CHECK(fleet.all(2));
    CHECK(fleet.epoch(0) == 0);  // nobody was asked, so it claims nothing
    fleet.write(0, 1);
    CHECK(fleet.all(1));
}

TEST_CASE("a lone member goes from a number to none at once, and claims nothing by it") {
    Fleet fleet(1);
    fleet.write(0, {quota("q", 1)}, 7);
    fleet.run(30s);
    fleet.write(0, 2);
    CHECK(fleet.all(2));
    fleet.run(30s);
    CHECK(fleet.epoch(0) == 0);
    fleet.start(1);
    fleet.write(1, {quota("q", 3)}, 7);
    fleet.run(3s);
    CHECK(fleet.all(3));
}

TEST_CASE("one that counts and was stopped counts anew, and so does one with a new incarnation") {
    Fleet fleet(3);
    settle(fleet, 1);
    fleet.write(0, 2);
    fleet.write(1, 2);
    fleet.run(2s);
    SUBCASE("all were stopped") {
        fleet.now += 1min;
        fleet.run(9s);
        CHECK(fleet.all(1));
        CHECK(fleet.run_until(11s, [&] { return fleet.all(2); }));
    }
    SUBCASE("all have renewed themselves") {
        for (auto& [number, member] : fleet.members) {
            const MemberId before = member->id;
            member->id.incarnation += 100;
            member->exchange.set_self(member->id);
            for (auto& [other, peer] : fleet.members) {
                peer->exchange.note_gone(before);
            }
        }
        fleet.run(9s);
        CHECK(fleet.all(1));
        CHECK(fleet.run_until(11s, [&] { return fleet.all(2); }));
    }
}

TEST_CASE("a fleet turns when more than half have had the file for ten seconds") {
    for (const std::size_t size : {2U, 3U, 4U, 10U}) {
        CAPTURE(size);
        Fleet fleet(size);
        settle(fleet, 1);
        const std::size_t most = size / 2 + 1;
        for (std::size_t i = 0; i + 1 < most; ++i) {
            fleet.write(i, 2);
        }
        fleet.run(60s);
        CHECK(fleet.all(1));
        fleet.write(most - 1, 2);
        fleet.run(9s);
        CHECK(fleet.all(1));
        CHECK(fleet.run_until(11s, [&] { return fleet.all(2); }));
        CHECK(fleet.epoch(size - 1) == 2);
        fleet.run(60s);
        CHECK(fleet.all(2));
        CHECK(fleet.epoch(0) == 2);  // one decision, although several members count
    }
}

TEST_CASE("half of the fleet on the old file for ten minutes is a tie: nothing changes") {
    Fleet fleet(4);
    settle(fleet, 1);
    fleet.write(0, 2);
    fleet.write(1, 2);
    for (int minute = 0; minute < 10; ++minute) {
        fleet.run(1min);
        REQUIRE(fleet.all(1));
    }
    for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        const auto differences = fleet.members[i]->exchange.differences();
        REQUIRE(differences.size() == 1);
        CHECK(differences[0].count.voters == 4);
        REQUIRE(differences[0].count.contents.size() == 2);
        CHECK(differences[0].count.contents[0].count == 2);
        CHECK(differences[0].count.contents[1].places.size() == 2);
    }
    fleet.write(2, 2);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));
    CHECK(fleet.differ(3));
    fleet.write(3, 2);
    CHECK(fleet.run_until(20s, [&] {
        return !fleet.differ(0) && !fleet.differ(1) && !fleet.differ(2) && !fleet.differ(3);
    }));
}

TEST_CASE("taking a change back is a change like any other") {
    Fleet fleet(3);
    settle(fleet, 1);
    for (const double rate : {2.0, 1.0, 2.0}) {
        fleet.write_all(rate);
        CHECK(fleet.run_until(20s, [&] { return fleet.all(rate); }));
    }
    CHECK(fleet.epoch(0) == 4);
}

TEST_CASE("three files of a third each: what is in force stays") {
    Fleet fleet(6);
    settle(fleet, 1);
    for (std::size_t i = 0; i < 6; ++i) {
        fleet.write(i, i < 2 ? 2 : (i < 4 ? 3 : 4));
    }
    fleet.run(2min);
    CHECK(fleet.all(1));
    CHECK(fleet.differ(5));
}

TEST_CASE("a pod that restarts with an old file moves nothing, and has the fleet's at once") {
    Fleet fleet(3);
    settle(fleet, 1);
    fleet.write_all(2);
    REQUIRE(fleet.run_until(20s, [&] { return fleet.all(2); }));
    fleet.start(1);
    fleet.write(1, 1);
    CHECK(fleet.rate(1) == 1);  // until it hears of the fleet
    CHECK(fleet.run_until(3s, [&] { return fleet.all(2); }));
    for (int i = 0; i < 60; ++i) {
        fleet.run(1s);
        REQUIRE(fleet.all(2));
    }
}

TEST_CASE("pods that crash again and again with another file are never counted") {
    Fleet fleet(5);
    settle(fleet, 1);
    for (int round = 0; round < 20; ++round) {
        for (const std::size_t i : {0U, 1U, 2U}) {  // more than half of them
            fleet.start(i);
            fleet.write(i, 2);
        }
        fleet.run(8s);
        REQUIRE(fleet.rate(3) == 1);
        REQUIRE(fleet.rate(4) == 1);
    }
    // They have it in force only until they have heard of the fleet.
    CHECK(fleet.all(1));
}

TEST_CASE("a rolling update takes effect half-way") {
    Fleet fleet(6);
    settle(fleet, 1);
    std::size_t turned_at = 0;
    for (std::size_t i = 0; i < 6 && turned_at == 0; ++i) {
        fleet.leave(i);
        fleet.start(10 + i);
        fleet.write(10 + i, 2);
        fleet.run(30s);
        turned_at = fleet.all(2) ? i + 1 : 0;
        CHECK((turned_at > 0 || fleet.all(1)));
    }
    CHECK(turned_at == 4);  // of six
}

TEST_CASE("one debug pod with another file changes nothing, whether it starts first or last") {
    Fleet fleet(1);
    fleet.write(0, 2);
    for (std::size_t i = 1; i < 5; ++i) {
        fleet.start(i);
        fleet.write(i, 1);
    }
    CHECK(fleet.run_until(25s, [&] { return fleet.all(1); }));
    fleet.write(0, 1);
    fleet.start(7);
    fleet.write(7, 3);
    fleet.run(3s);
    CHECK(fleet.all(1));
    fleet.run(2min);
    CHECK(fleet.all(1));
    CHECK(fleet.differ(7));
    CHECK(fleet.differ(1));
    fleet.leave(7);
    fleet.run(1min);
    CHECK_FALSE(fleet.differ(1));
}

TEST_CASE("one debug pod with a file among members without one: they follow it") {
    Fleet fleet(3);
    fleet.write(1, 5);
    CHECK(fleet.run_until(5s, [&] { return fleet.all(5); }));
    fleet.run(30s);
    CHECK(fleet.epoch(0) == 1);
    fleet.write(1, 6);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(6); }));
    fleet.leave(1);
    fleet.run(1min);
    CHECK(fleet.all(6));  // a set does not go with its file
}

TEST_CASE("a file that is missing or bad votes for what is in force") {
    Fleet fleet(4);
    settle(fleet, 1);
    fleet.members[3]->store.files().note_bad(true);
    fleet.write(0, 2);
    fleet.write(1, 2);
    fleet.run(1min);
    CHECK(fleet.all(1));  // two of four
    fleet.write(2, 2);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));

    // One that has started with a bad file knows no set by it, and votes all the same.
    fleet.start(3);
    fleet.members[3]->store.files().note_bad(true);
    fleet.run(15s);
    REQUIRE(fleet.all(2));
    fleet.write(0, 3);
    fleet.write(1, 3);
    fleet.run(1min);
    CHECK(fleet.all(2));
}

TEST_CASE("edits by the API stay above what the fleet decides") {
    Fleet fleet(3);
    settle(fleet, 1);
    const Edit edit{"ann", "test", std::nullopt};
    REQUIRE(fleet.members[1]->store.set(quota("q", 50), edit, fleet.now).has_value());
    REQUIRE(fleet.run_until(2s, [&] { return fleet.all(50); }));
    fleet.write_all(2);
    fleet.run(30s);
    CHECK(fleet.all(50));
    CHECK(fleet.epoch(0) == 2);
    REQUIRE(fleet.members[2]->store.remove("q", edit, fleet.now).has_value());
    CHECK(fleet.run_until(2s, [&] { return fleet.all(2); }));
}

TEST_CASE("a set is taken away by a document without quotas, not by a missing file") {
    Fleet fleet(3);
    settle(fleet, 1);
    for (auto& [number, member] : fleet.members) {
        member->store.files().erase(kVotedSet);
        member->store.forget_file(kVotedSet, fleet.now);
    }
    fleet.run(1min);
    CHECK(fleet.all(1));
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.write(i, std::vector<limiter::QuotaDefinition>{});
    }
    CHECK(fleet.run_until(20s, [&] { return fleet.all(0); }));
}

TEST_CASE("numbers go on working, and a set goes from numbers to none and back") {
    Fleet fleet(3);
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.write(i, {quota("q", 1)}, 7);
    }
    fleet.run(30s);
    fleet.write(1, {quota("q", 2)}, 8);
    CHECK(fleet.run_until(5s, [&] { return fleet.all(2); }));
    fleet.run(60s);
    CHECK(fleet.all(2));  // two files have an older number: they do not outvote a newer one
    CHECK(fleet.decisions() == 0);
    // The numbers are taken out, with a change.
    fleet.write(0, 3);
    fleet.run(60s);
    CHECK(fleet.all(2));
    fleet.write(1, 3);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(3); }));
    fleet.write(2, 3);
    // Numbers mean nothing then, but contents do.
    fleet.write(0, {quota("q", 4)}, 9);
    fleet.run(60s);
    CHECK(fleet.all(3));
    fleet.write(1, {quota("q", 4)}, 9);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(4); }));
}

TEST_CASE("a decision about a content that the counting members do not have on disk") {
    // All three that count have no file, as anchors.
    Fleet fleet(6);
    const std::vector<std::size_t> others = fleet.without_count();
    for (const std::size_t i : others) {
        fleet.write(i, 1);
    }
    REQUIRE(others.size() == 3);
    fleet.run(25s);
    CHECK(fleet.all(1));
    fleet.write(others[0], 2);
    fleet.write(others[1], 2);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));
}

TEST_CASE("a third of the datagrams may be lost") {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(seed);
        Fleet fleet(10, seed);
        fleet.loss = 0.3;
        fleet.write_all(1);
        fleet.run(40s);
        fleet.write_all(2);
        CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));
    }
}

TEST_CASE("a thousand members turn as three do, and it costs each of them little") {
    constexpr std::size_t count = kSanitized ? 250 : 1000;
    Fleet fleet(count);
    fleet.write_all(1);
    fleet.run(23s);
    REQUIRE(fleet.all(1));
    REQUIRE(fleet.epoch(0) == 1);
    const std::uint64_t before = fleet.bytes;
    fleet.run(5s);
    const double calm = static_cast<double>(fleet.bytes - before) / 5 / double{count};
    for (std::size_t i = 0; i <= count / 2; ++i) {
        fleet.write(i, 2);
    }
    fleet.run(9s);
    CHECK(fleet.all(1));
    CHECK(fleet.run_until(11s, [&] { return fleet.all(2); }));
    CHECK(fleet.differ(0));
    CHECK(fleet.differ(count - 1));
    MESSAGE("bytes a second and member, without headers: ", calm);
    CHECK(calm < 150);
}

TEST_CASE("an epoch that cannot have come about is refused") {
    Fleet fleet(2);
    settle(fleet, 1);
    DefinitionDigest digest;
    digest.sets.push_back({kVotedSet, decision_of(kMaximumEpochLead + 2), 7});
    std::array<std::byte, 1200> buffer{};
    ByteWriter writer(buffer);
    encode(writer, digest);
    CHECK(fleet.members[0]->exchange.receive(fleet.members[1]->id, MessageType::definition_digest,
                                             writer.written(), fleet.now, *fleet.members[0]));
    CHECK(fleet.members[0]->exchange.counters().epochs_refused == 1);
    fleet.write_all(2);
    CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));
    CHECK(fleet.epoch(0) == 2);
}

}  // namespace weir::definitions
