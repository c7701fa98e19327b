// Definitions in bulk: both ends of a stream joined in memory, and everything that must not work.
#include "definitions/stream.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"
#include "definitions/messages.h"
#include "definitions/quota.h"
#include "definitions/store.h"
#include "membership/virtual_network.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using gossip::MemberId;
using limiter::QuotaDefinition;
using membership::test::address_of;
using membership::test::test_key;
using test::quota;

constexpr Instant kStart{1h};

/// One sidecar as far as streams see it.
struct Side {
    Side(std::size_t address, gossip::Incarnation incarnation, std::uint8_t key = 1)
        : nonces(Random(incarnation)),
          sealer(std::vector<gossip::Key>{test_key(key)}, nonces),
          store(incarnation),
          random(incarnation) {
        id = {address_of(address), incarnation};
    }
    BulkContext context() {
        BulkContext result;
        result.store = &store;
        result.sealer = &sealer;
        result.counters = &counters;
        result.cluster = gossip::cluster_tag(cluster);
        result.self = id;
        result.number = random.next() | 1U;
        result.is_member = [this](const MemberId&) { return knows_others; };
        return result;
    }
    void edit(const std::string& name, double amount) {
        REQUIRE(store.set(quota(name, amount), {"ann", "test", {}}, kStart).has_value());
    }

    /// Overrides q0, q1 and so on, or with another letter, whose amounts are their numbers.
    void edit_many(int count, const std::string& letter = "q") {
        for (int i = 0; i < count; ++i) {
            edit(letter + std::to_string(i), i);
        }
    }
    /// Brings generation 4 of the set "big" into force, with so many quotas, and says what to ask
    /// for to get it.
    BulkWish::WantedDocument load_document(int count) {
        FileDocument document{"big", 4, {}};
        for (int i = 0; i < count; ++i) {
            document.quotas.push_back(quota("d" + std::to_string(i), i));
        }
        REQUIRE(store.apply_document(document, kStart).outcome == DocumentOutcome::applied);
        return {"big", 4, store.sets()[0].content_hash};
    }

    gossip::SeededNonces nonces;
    gossip::Sealer sealer;
    DefinitionStore store;
    BulkCounters counters;
    Random random;
    std::string cluster = "storage";
    MemberId id;
    bool knows_others = true;
};

struct Talk {
    bool good = false;
    std::vector<std::vector<std::byte>> from_puller;
    std::vector<std::vector<std::byte>> from_server;
};

/// Lets both talk until one of them ends it; pieces are cut anywhere.
Talk talk(DefinitionPull& pull, DefinitionServe& serve, Random random) {
    Talk result;
    const auto carry = [&](DefinitionStream& from, DefinitionStream& to, auto& kept) {
        const std::vector<std::byte> frame = from.next(kStart);
        if (frame.empty()) {
            return 0;
        }
        kept.push_back(frame);
        for (std::size_t at = 0; at < frame.size();) {
            const std::size_t size =
                std::min<std::size_t>(1 + random.below(9000), frame.size() - at);
            if (!to.receive(ByteSpan(frame).subspan(at, size), kStart)) {
                return -1;
            }
            at += size;
        }
        return 1;
    };
    for (int idle = 0; idle < 2 && !pull.done();) {
        const int there = carry(pull, serve, result.from_puller);
        const int back = there < 0 ? -1 : carry(serve, pull, result.from_server);
        if (there < 0 || back < 0) {
            return result;
        }
        idle = there + back == 0 ? idle + 1 : 0;
    }
    result.good = pull.good();
    return result;
}

/// One side asks the other for overrides, over a connection of their own.
Talk pull_overrides(Side& here, Side& there, bool only_newer, std::uint64_t seed) {
    DefinitionPull pull(here.context(), {there.id, {}, only_newer});
    DefinitionServe serve(there.context());
    return talk(pull, serve, Random(seed));
}

TEST_CASE("overrides are pulled whole, and then only what is newer") {
    Side here(0, 1);
    Side there(1, 2);
    there.edit_many(5000);
    here.edit("mine", 1);
    CHECK(pull_overrides(here, there, false, 3).good);
    CHECK(here.store.overrides().size() == 5001);
    CHECK(here.store.find("q4999", kStart)->definition->limits[0].amount == 4999);
    const std::uint64_t frames = here.counters.frames_in;
    CHECK(frames > 4);

    for (int i = 0; i < 100; ++i) {
        there.edit("q" + std::to_string(i), -1.0 * -7000);
    }
    const Talk newer = pull_overrides(here, there, true, 4);
    CHECK(newer.good);
    CHECK(here.store.find("q99", kStart)->definition->limits[0].amount == 7000);
    std::size_t bytes = 0;
    for (const auto& frame : newer.from_server) {
        bytes += frame.size();
    }
    CHECK(bytes < 20'000);  // a hundred entries, not the slots that they are in
    CHECK(there.counters.served == 2);
}

TEST_CASE("what one slot holds more than a frame takes goes on in the next") {
    Side here(0, 1);
    Side there(1, 2);
    const std::string long_why(250, 'w');
    for (int i = 0; i < 1500; ++i) {
        REQUIRE(there.store
                    .set(quota(std::string(400, 'n') + std::to_string(i), i), {"ann", long_why, {}},
                         kStart)
                    .has_value());
    }
    CHECK(pull_overrides(here, there, false, 5).good);
    CHECK(here.store.overrides().root_hash() == there.store.overrides().root_hash());
}

TEST_CASE("who lacks most gets what is in force in the order of names, and then the rest") {
    Side here(0, 1);
    Side there(1, 2);
    for (int i = 0; i < 20'000; ++i) {
        there.edit("q" + std::to_string(i * 7919 % 20'000), i);
    }
    there.edit("q17/gone", 1);
    REQUIRE(there.store.remove("q17/gone", {"ann", "test", {}}, kStart).has_value());
    REQUIRE(there.store.set_absent("q17/hidden", {"ann", "test", {}}, kStart).has_value());
    REQUIRE(there.store.set(quota("q17/short", 1), {"ann", "test", 1ns}, kStart - 1s).has_value());
    here.edit("mine", 1);  // one slot may be the same, or not
    static_cast<void>(here.store.take_changes());
    CHECK(pull_overrides(here, there, true, 8).good);
    CHECK(here.store.overrides().size() == there.store.overrides().size() + 1);
    for (const char* name : {"q17/gone", "q17/hidden", "q17/short"}) {
        CHECK(here.store.overrides().find(name) != nullptr);
    }
    const auto changes = here.store.take_changes();  // as they came
    CHECK(changes.size() == 20'000);
    CHECK(std::is_sorted(changes.begin(), changes.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; }));
}

/// Of the server, with an entry or two at most.
std::ptrdiff_t small_frames(const Talk& talk) {
    return std::count_if(talk.from_server.begin(), talk.from_server.end(),
                         [](const auto& frame) { return frame.size() < 200; });
}

TEST_CASE("what a frame is not filled by is looked at in slices") {
    Side here(0, 1);
    Side there(1, 2);
    static_cast<void>(there.load_document(30'000));
    there.edit_many(12'000);
    // Names that are no overrides: 30,000 come before the first one that is.
    const Talk all = pull_overrides(here, there, true, 11);
    CHECK(all.good);
    CHECK(here.store.overrides().root_hash() == there.store.overrides().root_hash());
    CHECK(small_frames(all) >= 30'000 / 4096);

    // Overrides that are known: a new one in each slot makes all of them differ.
    there.edit_many(12'000, "r");
    const Talk newer = pull_overrides(here, there, true, 12);
    CHECK(newer.good);
    CHECK(here.store.overrides().root_hash() == there.store.overrides().root_hash());
    CHECK(small_frames(newer) >= (30'000 + 12'000) / 4096);
}

TEST_CASE("edits while somebody pulls everything lose nothing that a second pull does not bring") {
    Side here(0, 1);
    Side there(1, 2);
    there.edit_many(20'000);
    DefinitionPull pull(here.context(), {there.id, {}, true});
    DefinitionServe serve(there.context());
    Random random(9);
    for (int turn = 0; !pull.done() && turn < 1000; ++turn) {
        for (auto frame = pull.next(kStart); !frame.empty(); frame = pull.next(kStart)) {
            REQUIRE(serve.receive(frame, kStart));
        }
        const auto frame = serve.next(kStart);
        REQUIRE(pull.receive(frame, kStart));
        const std::string name = "q" + std::to_string(random.below(20'000));
        there.edit("a" + std::to_string(turn), 1);  // behind what was sent
        there.edit("z" + std::to_string(turn), 1);
        there.edit(name, 77);
        static_cast<void>(there.store.remove("q" + std::to_string(turn), {"ann", "", {}}, kStart));
    }
    REQUIRE(pull.good());
    CHECK(here.store.overrides().size() >= 20'000);
    CHECK(pull_overrides(here, there, false, 10).good);
    CHECK(here.store.overrides().root_hash() == there.store.overrides().root_hash());
}

TEST_CASE("a document is pulled; one that is not there is refused") {
    Side here(0, 1);
    Side there(1, 2);
    const BulkWish::WantedDocument document = there.load_document(20'000);
    DefinitionPull pull(here.context(), {there.id, document, false});
    DefinitionServe serve(there.context());
    CHECK(talk(pull, serve, Random(6)).good);
    CHECK(pull.take_document() == *there.store.document_bytes("big"));
    for (const BulkWish::WantedDocument& other_one :
         {BulkWish::WantedDocument{"big", 5, document.content},
          BulkWish::WantedDocument{"other", 4, document.content},
          BulkWish::WantedDocument{"big", 4, document.content + 1}}) {
        DefinitionPull missing(here.context(), {there.id, other_one, false});
        DefinitionServe other(there.context());
        CHECK_FALSE(talk(missing, other, Random(7)).good);
        CHECK(missing.done());
    }
}

TEST_CASE("a document longer than the bound ends the connection, one as long is taken") {
    Side here(0, 1);
    Side there(1, 2);
    const BulkWish wish{there.id, there.load_document(20'000), false};
    const std::size_t length = there.store.document_bytes("big")->size();
    for (const std::size_t most : {length, length - 1}) {
        CAPTURE(most);
        BulkContext context = here.context();
        context.most_bytes = most;
        DefinitionPull pull(std::move(context), wish);
        DefinitionServe serve(there.context());
        CHECK(talk(pull, serve, Random(6)).good == (most == length));
        CHECK(pull.done() == (most == length));
    }
}

TEST_CASE("captured frames move nothing, neither here nor at a restarted sidecar") {
    Side here(0, 1);
    Side there(1, 2);
    there.edit_many(50);
    const Talk captured = pull_overrides(here, there, false, 8);
    REQUIRE(captured.good);

    // To the server again: it greets, but the question is not of this connection.
    DefinitionServe replayed(there.context());
    CHECK(replayed.receive(captured.from_puller[0], kStart));
    CHECK_FALSE(replayed.next(kStart).empty());
    CHECK_FALSE(replayed.receive(captured.from_puller[1], kStart));
    CHECK(replayed.next(kStart).empty());
    // To the server after a restart, which has another incarnation: not even a greeting.
    Side restarted(1, 3);
    DefinitionServe fresh(restarted.context());
    CHECK_FALSE(fresh.receive(captured.from_puller[0], kStart));
    // Answers to a puller that asks again.
    Side empty(0, 1);
    empty.random = Random(99);
    DefinitionPull other(empty.context(), {there.id, {}, false});
    static_cast<void>(other.next(kStart));
    CHECK_FALSE(other.receive(captured.from_server[0], kStart));
    CHECK(empty.store.overrides().size() == 0);
    // Its own words back to it, and frames twice or out of order.
    DefinitionPull mirror(here.context(), {there.id, {}, false});
    CHECK_FALSE(mirror.receive(mirror.next(kStart), kStart));
    DefinitionServe twice(there.context());
    CHECK(twice.receive(captured.from_puller[0], kStart));
    CHECK_FALSE(twice.receive(captured.from_puller[0], kStart));
    CHECK(there.counters.frames_refused + here.counters.frames_refused +
              empty.counters.frames_refused + restarted.counters.frames_refused ==
          5);
}

TEST_CASE("whoever has another key, cluster or peer gets nothing") {
    Side there(1, 2);
    there.edit("secret", 1);
    const auto refused = [&](Side& asker, const BulkWish& wish) {
        DefinitionPull pull(asker.context(), wish);
        DefinitionServe serve(there.context());
        const Talk outcome = talk(pull, serve, Random(9));
        return !outcome.good && outcome.from_server.empty();
    };
    Side other_key(0, 1, 7);
    CHECK(refused(other_key, {there.id, {}, false}));
    Side other_cluster(0, 1);
    other_cluster.cluster = "another";
    CHECK(refused(other_cluster, {there.id, {}, false}));
    Side late(0, 1);
    CHECK(refused(late, {{there.id.address, 77}, {}, false}));
    there.knows_others = false;
    CHECK(refused(late, {there.id, {}, false}));
    // A datagram's seal is not a frame's, though the key is the same.
    const std::vector<std::byte> datagram = late.sealer.seal(as_bytes("x"), 7);
    CHECK(late.sealer.open_frame(datagram).rejection.has_value());
    CHECK(late.sealer.open(late.sealer.seal_frame(as_bytes("x"))).rejection.has_value());
}

TEST_CASE("altered bytes, lying lengths and noise end the connection") {
    Side here(0, 1);
    Side there(1, 2);
    there.edit_many(50);
    DefinitionPull pull(here.context(), {there.id, {}, false});
    const std::vector<std::byte> hello = pull.next(kStart);
    for (std::size_t i = 0; i < hello.size(); ++i) {
        std::vector<std::byte> altered = hello;
        altered[i] ^= std::byte{0x40};
        DefinitionServe serve(there.context());
        const bool waits = serve.receive(altered, kStart);  // of a longer length: for more bytes
        CHECK(!(waits && serve.greeted()));
    }
    const std::vector<std::byte> lie{std::byte{0xff}, std::byte{0}, std::byte{0}, std::byte{0}};
    DefinitionServe serve(there.context());
    CHECK_FALSE(serve.receive(lie, kStart));
    Random random(10);
    for (int i = 0; i < 300; ++i) {
        std::vector<std::byte> noise(random.below(2000));
        for (std::byte& byte : noise) {
            byte = static_cast<std::byte>(random.next());
        }
        DefinitionServe target(there.context());
        CHECK((!target.receive(noise, kStart) || !target.greeted()));
    }
    CHECK(here.store.overrides().size() == 0);
}

}  // namespace
}  // namespace weir::definitions
