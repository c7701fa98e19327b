// One sidecar's definition synchronisation among peers that are made of messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "engine/definition_payload.h"
#include "engine/definition_store.h"
#include "engine/definition_sync.h"
#include "engine/quota.h"
#include "gossip/virtual_network.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using gossip::MemberId;
using gossip::MessageType;
using gossip::test::address_of;
using test::quota;

constexpr Instant kStart{1h};
const MemberId kFirst{address_of(1), 1};
const MemberId kSecond{address_of(2), 2};

/// Sees which versions are pushed.
struct Pushed final : gossip::MessageSink {
    std::vector<crdt::Version> versions;
    bool send(const MemberId&, MessageType type, ByteSpan payload) override {
        ByteReader reader(payload);
        while (type == MessageType::definition_push && reader.remaining() > 0) {
            versions.push_back(gossip::decode_entry(reader, kStart).version);
            REQUIRE(reader.ok());
        }
        return true;
    }
};

struct Sidecar {
    DefinitionStore store{7};
    DefinitionSync sync{store, Random(1)};
    Pushed sink;
    Instant now = kStart;

    void tick(const std::vector<MemberId>& peers, Duration later) {
        now += later;
        store.tick(now);
        sync.tick(now, peers, sink);
    }
    void hear_content(const MemberId& from, std::uint64_t generation, std::uint64_t content) {
        gossip::DefinitionDigest digest;
        digest.sets.push_back({"storage", generation, content});
        Payload payload;
        gossip::encode(payload.writer(), digest);
        REQUIRE(sync.receive(from, MessageType::definition_digest, payload.bytes(), now, sink));
    }
    DocumentOutcome offer(double amount) {
        return store.apply_document({"storage", 7, {quota("a", amount)}}, now).outcome;
    }
    [[nodiscard]] bool conflict() const { return store.sets()[0].conflict; }
};

TEST_CASE("who is gone neither alarms nor votes, though a peer that is here has said nothing") {
    Sidecar wrong;
    wrong.offer(2);
    const std::uint64_t content_here = wrong.store.sets()[0].content_hash;
    wrong.tick({kFirst, kSecond}, 0s);
    wrong.hear_content(kSecond, 7, content_here + 1);
    CHECK(wrong.conflict());
    wrong.tick({kFirst, kSecond}, 2s);
    CHECK(wrong.conflict());
    wrong.tick({kFirst}, 2s);
    CHECK_FALSE(wrong.conflict());

    // A vote for the content of the file here.
    DefinitionStore other(8);
    other.apply_document({"storage", 7, {quota("a", 1)}}, kStart);
    wrong.tick({kFirst, kSecond}, 2s);
    wrong.hear_content(kSecond, 7, other.sets()[0].content_hash);
    wrong.tick({kFirst}, 2s);
    CHECK(wrong.offer(1) == DocumentOutcome::conflict);
    CHECK(wrong.store.sets()[0].content_hash == content_here);
}

}  // namespace
}  // namespace weir::engine
