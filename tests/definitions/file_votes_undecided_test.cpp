// Votes about a set while nobody has decided about it: its sidecars have numbers, or started with
// different files.
#include <doctest/doctest.h>

#include <algorithm>
#include <span>

#include "definitions/file_votes.h"
#include "definitions/voting_fleet.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using gossip::MemberId;
using test::kVotedSet;
using test::quota;
using Fleet = test::VotingFleet;

}  // namespace

TEST_CASE("one that is cut off from its fleet with a number asks those that fell silent") {
    Fleet fleet(3);
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.write(i, {quota("q", 1)}, 7);
    }
    fleet.run(30s);
    fleet.passes = [](std::size_t one, std::size_t other) { return (one == 0) == (other == 0); };
    fleet.run(1s);
    fleet.write(0, 2);
    fleet.run(30s);
    CHECK(fleet.all(1));
}

TEST_CASE("before any decision a bad file votes for what its own sidecar has in force") {
    // After a restart of the fleet with files that are bad at more than half of it, some have what
    // was kept and others the good file of their peers.
    Fleet fleet(5);
    std::vector<MemberId> ids;
    for (const auto& [number, member] : fleet.members) {
        ids.push_back(member->id);
    }
    const auto collectors = collectors_of(std::span(ids).subspan(1), ids.front());
    const auto place = std::find(ids.begin(), ids.end(), collectors.front());
    const auto counts = static_cast<std::size_t>(place - ids.begin());
    // Of decisions of one epoch that with the greater hash wins.
    const auto hash = [](double rate) {
        return document_hash(*encode_document(std::vector{quota("q", rate)}));
    };
    double kept = 3;
    while (hash(kept) < hash(1)) {
        ++kept;
    }
    std::size_t good = 2;
    for (std::size_t i = 0; i < 5; ++i) {
        if (i != counts && good > 0) {
            --good;
            fleet.write(i, 1);
            continue;
        }
        DefinitionStore& store = fleet.members[i]->store;
        store.files().note_bad(true);
        static_cast<void>(store.apply_document(
            {kVotedSet, kUndecided, {quota("q", i == counts ? kept : 1)}}, fleet.now));
    }
    fleet.run(40s);
    CHECK(fleet.all(1));
    CHECK(fleet.epoch(counts) == 1);
}

}  // namespace weir::definitions
