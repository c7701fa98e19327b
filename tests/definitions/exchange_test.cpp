// Definitions over the real transport in a virtual network with loss and splits.
#include "definitions/exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "definitions/quota.h"
#include "definitions/store.h"
#include "definitions/whole_store.h"
#include "membership/virtual_network.h"

namespace weir::definitions {
namespace {

using namespace membership::test;
using gossip::MemberId;
using limiter::QuotaDefinition;
using membership::Member;
using membership::Received;
using test::in_force;
using test::listed;
using test::quota;

const Edit kEdit{"ann", "test", std::nullopt};

/// A fleet of sidecars that only exchange definitions.
class Fleet {
  public:
    Fleet(std::size_t size, std::uint64_t seed) : world(seed) {
        world.start_all(size);
        for (std::size_t i = 0; i < size; ++i) {
            add(i);
        }
        world.on_tick = [this](std::size_t number, membership::test::Node& node) {
            std::vector<MemberId> peers;
            for (const Member& member : node.transport.membership().live()) {
                peers.push_back(member.id);
            }
            stores[number]->tick(world.now());
            syncs[number]->tick(world.now(), peers, node.transport);
        };
    }
    void add(std::size_t number) {
        stores[number] = std::make_unique<DefinitionStore>(number + 1);
        syncs[number] =
            std::make_unique<DefinitionExchange>(*stores[number], world.random().fork());
        world.node(number).on_message = [this, number](const Received& message) {
            syncs[number]->receive(message.sender, message.type, message.payload, world.now(),
                                   world.at(number));
        };
    }
    void join() {
        REQUIRE(world.run_until(20s, [&] { return world.complete(); }));
    }
    bool everywhere(const std::string& name, double amount) {
        for (auto& [number, store] : stores) {
            const auto found = store->find(name, world.now());
            if (!found || !found->definition || found->definition->limits[0].amount != amount) {
                return false;
            }
        }
        return true;
    }
    bool in_every_history(const std::string& name, const Version& version) {
        return std::all_of(stores.begin(), stores.end(), [&](const auto& store) {
            const auto history = store.second->history(name);
            return std::any_of(history.begin(), history.end(), [&](const HistoryEntry& row) {
                return row.entry.version == version;
            });
        });
    }
    bool equal() {
        for (auto& [number, store] : stores) {
            if (store->content_hash() != stores[0]->content_hash()) {
                return false;
            }
        }
        return true;
    }

    VirtualNetwork world;
    std::map<std::size_t, std::unique_ptr<DefinitionStore>> stores;
    std::map<std::size_t, std::unique_ptr<DefinitionExchange>> syncs;
};

TEST_CASE("an edit is in force everywhere within a second, with 30 % loss too") {
    for (const double loss : {0.0, 0.3}) {
        Duration worst{};
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            CAPTURE(seed);
            Fleet fleet(20, seed);
            fleet.join();
            fleet.world.loss = loss;
            REQUIRE(fleet.stores[3]->set(quota("s3", 50), kEdit, fleet.world.now()).has_value());
            const Instant edited = fleet.world.now();
            CHECK(fleet.world.run_until(5s, [&] { return fleet.everywhere("s3", 50); }));
            worst = std::max(worst, fleet.world.now() - edited);
        }
        MESSAGE("loss ", loss, ": worst of 15 fleets of 20: ", to_seconds(worst), " s");
        CHECK(worst <= 1s);
    }
}

TEST_CASE("pushes end when all have acknowledged") {
    Fleet fleet(5, 3);
    fleet.join();
    REQUIRE(fleet.stores[0]->set(quota("s3", 50), kEdit, fleet.world.now()).has_value());
    fleet.world.run(300ms);
    CHECK(fleet.syncs[0]->settled());
    CHECK(fleet.syncs[0]->counters().pushes_sent == 4);
}

TEST_CASE("the last edit wins at all, whoever made it") {
    Fleet fleet(5, 4);
    fleet.join();
    REQUIRE(fleet.stores[0]->set(quota("s3", 1), kEdit, fleet.world.now()).has_value());
    REQUIRE(fleet.stores[4]->set(quota("s3", 2), kEdit, fleet.world.now()).has_value());
    fleet.world.run(2s);
    CHECK(fleet.equal());
    REQUIRE(fleet.stores[2]->set(quota("s3", 3), kEdit, fleet.world.now()).has_value());
    fleet.world.run(1s);
    CHECK(fleet.everywhere("s3", 3));
    REQUIRE(fleet.stores[1]->remove("s3", kEdit, fleet.world.now()).has_value());
    fleet.world.run(1s);
    CHECK(fleet.equal());
    CHECK_FALSE(fleet.stores[4]->find("s3", fleet.world.now()));
}

TEST_CASE("edits of both sides of a split all arrive after it") {
    Fleet fleet(6, 5);
    fleet.join();
    REQUIRE(fleet.stores[0]->set(quota("both", 1), kEdit, fleet.world.now()).has_value());
    fleet.world.run(1s);
    fleet.world.passes = [](const Endpoint& a, const Endpoint& b) {
        return (a >= address_of(3)) == (b >= address_of(3));
    };
    fleet.world.run(20s);
    // More than are pushed or remembered as recent: the partitions have to find the rest.
    for (int i = 0; i < 300; ++i) {
        REQUIRE(fleet.stores[1]
                    ->set(quota("left" + std::to_string(i), i), kEdit, fleet.world.now())
                    .has_value());
        REQUIRE(fleet.stores[5]
                    ->set(quota("right" + std::to_string(i), i), kEdit, fleet.world.now())
                    .has_value());
    }
    REQUIRE(fleet.stores[1]->set(quota("both", 2), kEdit, fleet.world.now()).has_value());
    fleet.world.run(20s);
    fleet.world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    const Instant healed = fleet.world.now();
    CHECK(fleet.world.run_until(30s, [&] { return fleet.equal(); }));
    MESSAGE("600 edits equal everywhere after ", to_seconds(fleet.world.now() - healed), " s");
    CHECK(listed(*fleet.stores[0], fleet.world.now()).size() == 601);
    CHECK(fleet.everywhere("both", 2));
    CHECK(fleet.everywhere("left299", 299));
    CHECK(fleet.everywhere("right299", 299));
}

TEST_CASE("a sidecar that joins learns everything") {
    Fleet fleet(4, 6);
    fleet.join();
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(fleet.stores[0]
                    ->set(quota("q" + std::to_string(i), i), kEdit, fleet.world.now())
                    .has_value());
    }
    fleet.world.run(15s);
    REQUIRE(fleet.equal());
    fleet.world.start(4, {address_of(0)});
    fleet.add(4);
    CHECK(fleet.world.run_until(15s, [&] { return fleet.equal(); }));
}

TEST_CASE("the newest document spreads, the older changes nothing") {
    Fleet fleet(8, 7);
    fleet.join();
    FileDocument document{"storage", 7, {}};
    for (int i = 0; i < 3000; ++i) {
        document.quotas.push_back(quota("bucket-with-a-name-" + std::to_string(i), i));
    }
    fleet.world.loss = 0.1;
    CHECK(fleet.stores[2]->apply_document(document, fleet.world.now()).outcome ==
          DocumentOutcome::applied);
    const Instant began = fleet.world.now();
    CHECK(fleet.world.run_until(60s, [&] { return fleet.equal(); }));
    MESSAGE("3000 quotas at 8 sidecars after ", to_seconds(fleet.world.now() - began), " s");
    for (auto& [number, store] : fleet.stores) {
        REQUIRE(store->sets().size() == 1);
        CHECK(store->sets()[0].generation == 7U);
    }
    document.generation = 6;
    document.quotas.resize(1);
    CHECK(fleet.stores[5]->apply_document(document, fleet.world.now()).outcome ==
          DocumentOutcome::older);
    fleet.world.run(5s);
    CHECK(in_force(*fleet.stores[0], fleet.world.now()).size() == 3000);
}

TEST_CASE("one generation with two contents is seen by both and spreads nowhere") {
    Fleet fleet(3, 8);
    fleet.join();
    fleet.stores[0]->apply_document({"storage", 7, {quota("a", 1)}}, fleet.world.now());
    fleet.stores[1]->apply_document({"storage", 7, {quota("a", 2)}}, fleet.world.now());
    fleet.world.run(5s);
    CHECK(fleet.stores[0]->find("a", fleet.world.now())->definition->limits[0].amount == 1);
    CHECK(fleet.stores[1]->find("a", fleet.world.now())->definition->limits[0].amount == 2);
    CHECK(fleet.stores[0]->sets()[0].conflict);
    CHECK(fleet.stores[1]->sets()[0].conflict);
}

TEST_CASE("a conflict of contents ends when who had the other one is gone or says the same") {
    Fleet fleet(4, 8);
    fleet.join();
    const auto conflicts = [&] {
        std::size_t count = 0;
        for (auto& [number, store] : fleet.stores) {
            count += !store->sets().empty() && store->sets()[0].conflict ? 1U : 0U;
        }
        return count;
    };
    fleet.stores[0]->apply_document({"storage", 7, {quota("a", 1)}}, fleet.world.now());
    fleet.world.run(5s);
    // As if it had been started with another file; then as if again, with the right one.
    fleet.add(3);
    fleet.stores[3]->apply_document({"storage", 7, {quota("a", 2)}}, fleet.world.now());
    REQUIRE(fleet.world.run_until(20s, [&] { return conflicts() == 4; }));
    const std::uint64_t met = fleet.stores[0]->counters().document_conflicts;
    fleet.world.run(10s);
    CHECK(fleet.stores[0]->counters().document_conflicts == met);  // told once
    fleet.add(3);
    fleet.stores[3]->apply_document({"storage", 7, {quota("a", 1)}}, fleet.world.now());
    CHECK(fleet.world.run_until(20s, [&] { return conflicts() == 0; }));

    fleet.add(3);
    fleet.stores[3]->apply_document({"storage", 7, {quota("a", 3)}}, fleet.world.now());
    REQUIRE(fleet.world.run_until(20s, [&] { return conflicts() == 4; }));
    fleet.world.kill(3);
    fleet.stores.erase(3);
    fleet.syncs.erase(3);
    CHECK(fleet.world.run_until(60s, [&] { return conflicts() == 0; }));
}

TEST_CASE("a conflict of contents ends when the file is put right where it was wrong") {
    Fleet fleet(4, 8);
    fleet.join();
    const auto conflicts = [&] {
        return std::count_if(fleet.stores.begin(), fleet.stores.end(), [](const auto& store) {
            return !store.second->sets().empty() && store.second->sets()[0].conflict;
        });
    };
    const auto offer = [&](std::size_t number, double amount) {
        return fleet.stores[number]
            ->apply_document({"storage", 7, {quota("a", amount)}}, fleet.world.now())
            .outcome;
    };
    offer(0, 1);
    fleet.world.run(5s);
    fleet.add(3);  // as if started on another file
    CHECK(offer(3, 2) == DocumentOutcome::applied);
    REQUIRE(fleet.world.run_until(20s, [&] { return conflicts() == 4; }));
    // The same mistake in one more file changes nothing there.
    CHECK(offer(0, 2) == DocumentOutcome::conflict);
    CHECK(offer(0, 1) == DocumentOutcome::unchanged);
    REQUIRE(fleet.world.run_until(20s, [&] {
        offer(3, 1);  // as soon as it knows what the others have
        return fleet.everywhere("a", 1);
    }));
    CHECK(fleet.world.run_until(20s, [&] { return conflicts() == 0; }));
}

TEST_CASE("a local document stays at home") {
    Fleet fleet(3, 9);
    fleet.join();
    fleet.stores[0]->apply_document({"storage", std::nullopt, {quota("a", 1)}}, fleet.world.now());
    fleet.world.run(5s);
    CHECK_FALSE(fleet.stores[1]->find("a", fleet.world.now()));
}

TEST_CASE("of two edits at one moment one wins everywhere, and everybody has seen both") {
    for (std::uint64_t seed = 20; seed < 25; ++seed) {
        Fleet fleet(5, seed);
        fleet.join();
        REQUIRE(
            fleet.stores[0]->set(quota("s3", 1), {"ann", "", {}}, fleet.world.now()).has_value());
        REQUIRE(
            fleet.stores[4]->set(quota("s3", 2), {"bob", "", {}}, fleet.world.now()).has_value());
        fleet.world.run(2s);
        CHECK(fleet.everywhere("s3", 2));  // equal epochs: the higher writer
        for (auto& [number, store] : fleet.stores) {
            const auto history = store->history("s3");
            REQUIRE(history.size() == 2);
            CHECK(history[0].entry.who == "bob");
            CHECK(history[1].entry.who == "ann");
        }
    }
}

TEST_CASE("of edits on both sides of a split every history shows the one that lost") {
    for (std::uint64_t seed = 40; seed < 50; ++seed) {
        CAPTURE(seed);
        Fleet fleet(6, seed);
        fleet.join();
        fleet.world.loss = 0.1;
        fleet.world.passes = [](const Endpoint& a, const Endpoint& b) {
            return (a >= address_of(3)) == (b >= address_of(3));
        };
        // From a short cut, whose pushes go on, to one in which all have been given up.
        fleet.world.run(seed % 2 == 0 ? 500ms : 20s);
        for (const std::size_t number : {1U, 4U}) {
            REQUIRE(
                fleet.stores[number]->set(quota("s3", 7), kEdit, fleet.world.now()).has_value());
        }
        fleet.world.run(seed % 4 < 2 ? 1s : 6s);
        fleet.world.passes = [](const Endpoint&, const Endpoint&) { return true; };
        CHECK(fleet.world.run_until(40s, [&] {
            return fleet.in_every_history("s3", Version{1, 2}) &&
                   fleet.in_every_history("s3", Version{1, 5});
        }));
    }
}

TEST_CASE("an edit that all acknowledged is not told again when it is overtaken") {
    Fleet fleet(5, 51);
    fleet.join();
    fleet.world.run(1s);
    REQUIRE(fleet.stores[0]->set(quota("s3", 1), kEdit, fleet.world.now()).has_value());
    fleet.world.run(1s);
    REQUIRE(fleet.stores[4]->set(quota("s3", 2), kEdit, fleet.world.now()).has_value());
    fleet.world.run(5s);
    CHECK(fleet.syncs[0]->counters().pushes_sent == 4);
    CHECK(fleet.syncs[4]->counters().pushes_sent == 4);
}

TEST_CASE("a name deleted on one side of a split and remade on the other is what was said last") {
    Fleet fleet(4, 30);
    fleet.join();
    REQUIRE(fleet.stores[0]->set(quota("s3", 1), kEdit, fleet.world.now()).has_value());
    fleet.world.run(1s);
    fleet.world.passes = [](const Endpoint& a, const Endpoint& b) {
        return (a >= address_of(2)) == (b >= address_of(2));
    };
    fleet.world.run(20s);
    REQUIRE(fleet.stores[0]->remove("s3", kEdit, fleet.world.now()).has_value());
    REQUIRE(fleet.stores[3]->set(quota("s3", 7), kEdit, fleet.world.now()).has_value());
    REQUIRE(fleet.stores[3]->set(quota("s3", 8), kEdit, fleet.world.now()).has_value());
    fleet.world.run(5s);
    fleet.world.passes = [](const Endpoint&, const Endpoint&) { return true; };
    CHECK(fleet.world.run_until(30s, [&] { return fleet.everywhere("s3", 8); }));
    // The other side shows as well what lost.
    CHECK(fleet.world.run_until(5s, [&] {
        return fleet.in_every_history("s3", Version{2, 1}) &&
               fleet.in_every_history("s3", Version{3, 4});
    }));
    // A stale tombstone never comes back: the removal is older.
    fleet.world.run(5s);
    CHECK(fleet.everywhere("s3", 8));
}

TEST_CASE("what is much is wished for in bulk, and comes in pages when that fails") {
    Fleet fleet(2, 31);
    for (auto& [number, sync] : fleet.syncs) {
        sync->set_bulk(true);
    }
    for (int i = 0; i < 500; ++i) {
        REQUIRE(fleet.stores[0]
                    ->set(quota("q" + std::to_string(i), i), kEdit, fleet.world.now())
                    .has_value());
    }
    static_cast<void>(fleet.stores[0]->take_edited());  // as if they had been made long ago
    std::size_t wishes = 0;
    const auto tick = fleet.world.on_tick;
    fleet.world.on_tick = [&](std::size_t number, membership::test::Node& node) {
        tick(number, node);
        while (const auto wish = fleet.syncs[number]->take_wish()) {
            ++wishes;
            CHECK_FALSE(wish->document.has_value());
            fleet.syncs[number]->end_wish(*wish, false, {}, fleet.world.now());
        }
    };
    fleet.join();
    CHECK(fleet.world.run_until(60s, [&] { return fleet.equal(); }));
    CHECK(wishes >= 1);
    CHECK(wishes < 5);
    CHECK(fleet.syncs[0]->counters().bulk_failures + fleet.syncs[1]->counters().bulk_failures ==
          wishes);
    CHECK(fleet.stores[1]->overrides().size() == 500);
}

TEST_CASE("peers tell what they have") {
    Fleet fleet(2, 32);
    fleet.join();
    fleet.stores[0]->apply_document({"storage", 7, {quota("a", 1)}}, fleet.world.now());
    fleet.world.run(5s);
    const PeerDefinitions* const said = fleet.syncs[1]->said(fleet.world.at(0).self());
    REQUIRE(said != nullptr);
    REQUIRE(said->sets.size() == 1);
    CHECK(said->sets[0].generation == 7);
    CHECK(said->overrides == 0);
    CHECK(fleet.syncs[1]->said(MemberId{address_of(9), 9}) == nullptr);
}

TEST_CASE("definition messages that do not decode are counted and change nothing") {
    struct Nowhere final : gossip::MessageSink {
        bool send(const MemberId&, gossip::MessageType, ByteSpan) override { return true; }
    } sink;
    Random random(10);
    DefinitionStore store(1);
    DefinitionExchange sync(store, Random(11));
    const MemberId peer{address_of(1), 1};
    const std::uint64_t before = store.content_hash();
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> payload(random.below(400));
        for (std::byte& byte : payload) {
            byte = static_cast<std::byte>(random.next());
        }
        const auto type = static_cast<gossip::MessageType>(32 + random.below(7));
        sync.receive(peer, type, payload, Instant{1h}, sink);
    }
    CHECK(sync.counters().bad_messages > 10'000);
    CHECK(store.content_hash() == before);
}

}  // namespace
}  // namespace weir::definitions
