// One sidecar's definition synchronisation among peers that are made of messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "base/records.h"
#include "definitions/codec.h"
#include "definitions/exchange.h"
#include "definitions/payload.h"
#include "definitions/quota.h"
#include "definitions/store.h"
#include "membership/virtual_network.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using gossip::MemberId;
using gossip::MessageType;
using membership::test::address_of;
using test::quota;

constexpr Instant kStart{1h};
const MemberId kFirst{address_of(1), 1};
const MemberId kSecond{address_of(2), 2};

/// Sees which versions are pushed.
struct Pushed final : gossip::MessageSink {
    std::vector<Version> versions;
    bool send(const MemberId&, MessageType type, ByteSpan payload) override {
        ByteReader reader(payload);
        skip_head(reader);
        while (type == MessageType::definition_push && reader.remaining() > 0) {
            versions.push_back(decode_entry(reader, kStart).version);
            REQUIRE(reader.ok());
        }
        return true;
    }
};

std::uint64_t content_of(double amount) {
    DefinitionStore store(9);
    store.apply_document({"storage", 7, {quota("a", amount)}}, kStart);
    return store.sets()[0].content_hash;
}

/// An edit in the name of `writer` that just fits a message while it is new: the older an entry is,
/// the more bytes its age takes.
DefinitionEntry longest_edit(std::uint64_t writer, Instant written) {
    DefinitionEntry entry;
    entry.name = "q";
    entry.version = {1, writer};
    entry.kind = EntryKind::set;
    entry.written = written;
    limiter::QuotaDefinition definition = quota("q", 1);
    limiter::QuotaOptions options;
    options.refusal.body = std::string(512, 'x');
    definition.options = options;
    entry.value = encode_definition(definition);
    entry.who = std::string(kMaximumWriterName, 'w');
    entry.why = std::string(kMaximumReason, 'y');
    Payload payload;
    payload.begin_entries();
    encode(payload.writer(), entry, written);
    REQUIRE(payload.writer().ok());
    while (payload.writer().ok()) {
        entry.name += 'q';
        payload.restart();
        payload.begin_entries();
        encode(payload.writer(), entry, written);
    }
    entry.name.pop_back();
    return entry;
}

struct Sidecar {
    DefinitionStore store{7};
    DefinitionExchange sync{store, Random(1)};
    Pushed sink;
    Instant now = kStart;

    void tick(const std::vector<MemberId>& peers, Duration later) {
        now += later;
        store.tick(now);
        sync.tick(now, peers, sink);
    }
    void hear_content(const MemberId& from, std::uint64_t generation, std::uint64_t content) {
        DefinitionDigest digest;
        digest.sets.push_back({"storage", generation, content});
        Payload payload;
        encode(payload.writer(), digest);
        REQUIRE(sync.receive(from, MessageType::definition_digest, payload.bytes(), now, sink));
    }
    void acknowledge(const Payload& versions) {
        REQUIRE(
            sync.receive(kFirst, MessageType::definition_acknowledge, versions.bytes(), now, sink));
    }
    DocumentOutcome offer(double amount, bool by_hand = false) {
        return store.apply_document({"storage", 7, {quota("a", amount)}, by_hand}, now).outcome;
    }
    [[nodiscard]] bool conflict() const { return store.sets()[0].conflict; }
};

TEST_CASE("who is gone neither alarms nor votes, though a peer that is here has said nothing") {
    Sidecar wrong;
    wrong.offer(2);
    wrong.tick({kFirst, kSecond}, 0s);
    wrong.hear_content(kSecond, 7, content_of(1));
    CHECK(wrong.conflict());
    wrong.tick({kFirst, kSecond}, 2s);
    CHECK(wrong.conflict());
    wrong.tick({kFirst}, 2s);
    CHECK_FALSE(wrong.conflict());

    // A vote for the content of the file here.
    wrong.tick({kFirst, kSecond}, 2s);
    wrong.hear_content(kSecond, 7, content_of(1));
    wrong.tick({kFirst}, 2s);
    CHECK(wrong.offer(1) == DocumentOutcome::conflict);
    CHECK(wrong.store.sets()[0].content_hash == content_of(2));
}

TEST_CASE("a mistake that was refused is not taken because peers leave, only if somebody asks") {
    Sidecar one;
    one.offer(1);
    const auto hear_both = [&](double first, double second) {
        one.tick({kFirst, kSecond}, 2s);
        one.hear_content(kFirst, 7, content_of(first));
        one.hear_content(kSecond, 7, content_of(second));
    };
    hear_both(1, 2);  // the second one was started on the mistake
    CHECK(one.offer(2) == DocumentOutcome::conflict);
    one.tick({kSecond}, 2s);
    CHECK_FALSE(one.store.sets()[0].outvoted);
    CHECK(one.offer(2) == DocumentOutcome::conflict);  // read again, for another file's sake
    CHECK(one.offer(2) == DocumentOutcome::conflict);
    CHECK(one.store.sets()[0].content_hash == content_of(1));

    SUBCASE("by hand") { CHECK(one.offer(2, true) == DocumentOutcome::applied); }
    SUBCASE("put right, and made again while only one is there") {
        CHECK(one.offer(1) == DocumentOutcome::unchanged);
        CHECK(one.offer(2) == DocumentOutcome::applied);
    }
    SUBCASE("most have it") {
        hear_both(2, 2);
        CHECK(one.store.sets()[0].outvoted);
        CHECK(one.offer(2) == DocumentOutcome::applied);
    }
    SUBCASE("by hand, but most hold to what is in force here") {
        hear_both(1, 2);
        CHECK(one.offer(2, true) == DocumentOutcome::conflict);
    }
}

TEST_CASE("an edit whose push was thrown out for want of room is told when it is overtaken") {
    constexpr std::size_t kEdits = 257;  // one more than there is room for
    Sidecar one;
    one.tick({kFirst}, 0s);
    one.now += 1s;
    for (std::size_t i = 0; i < kEdits; ++i) {
        const auto quota_i = quota("q" + std::to_string(i), 1);
        REQUIRE(one.store.set(quota_i, {"ann", "test", {}}, one.now).has_value());
    }
    one.tick({kFirst}, 0s);
    const DefinitionEntry thrown_out = *one.store.overrides().find("q0");
    const auto told = [&] {
        return std::count(one.sink.versions.begin(), one.sink.versions.end(), thrown_out.version);
    };
    CHECK(told() == 0);
    Payload acknowledged;
    for (const Version& version : one.sink.versions) {
        if (!acknowledged.fits(32)) {
            one.acknowledge(acknowledged);
            acknowledged.restart();
        }
        acknowledged.begin_entries();
        encode_acknowledgement(acknowledged.writer(), version);
    }
    one.acknowledge(acknowledged);
    CHECK(one.sync.settled());

    DefinitionEntry newer = thrown_out;
    newer.version = {thrown_out.version.epoch + 1000, 8};
    CHECK(one.store.merge(newer, one.now) == MergeOutcome::applied);
    one.tick({kFirst}, 1s);
    CHECK(told() == 1);
}

TEST_CASE("an edit that a peer has made up in our name and that fits no push is given up") {
    Sidecar one;
    one.tick({kFirst}, 0s);
    one.now += 1s;
    const DefinitionEntry forged = longest_edit(7, one.now);
    Payload message;
    message.begin_entries();
    encode(message.writer(), forged, one.now);
    REQUIRE(
        one.sync.receive(kFirst, MessageType::definition_push, message.bytes(), one.now, one.sink));
    REQUIRE(one.store.overrides().find(forged.name) != nullptr);
    DefinitionEntry newer = forged;
    newer.version = {2, 8};
    REQUIRE(one.store.merge(newer, one.now) == MergeOutcome::applied);

    // A peer that appears is to be told what was overtaken.
    one.tick({kFirst, kSecond}, 1h);
    CHECK(one.sync.counters().pushes_given_up == 1);
    CHECK(one.sync.counters().pushes_sent == 0);
    CHECK(one.sync.settled());
}

}  // namespace
}  // namespace weir::definitions
