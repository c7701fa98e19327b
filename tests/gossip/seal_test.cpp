#include "gossip/seal.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "gossip/test_key.h"

namespace weir::gossip {
namespace {

using test::test_key;

std::vector<std::byte> text(std::string_view content) {
    const ByteSpan bytes = as_bytes(content);
    return {bytes.begin(), bytes.end()};
}

constexpr std::uint64_t kClock = 123456789;

struct Side {
    explicit Side(std::vector<Key> keys, std::uint64_t seed = 1)
        : nonces(Random(seed)), sealer(keys, nonces) {}
    SeededNonces nonces;
    Sealer sealer;
};

DatagramRejection refused(Side& side, ByteSpan datagram) {
    const auto opened = side.sealer.open(datagram);
    REQUIRE(opened.rejection);
    CHECK(opened.content.empty());
    return *opened.rejection;
}

TEST_CASE("what one sealed another with the key opens") {
    CHECK(rc::check([](const std::string& content) {
        RC_PRE(content.size() < 1000u);
        Side one({test_key(1)});
        Side two({test_key(1)}, 2);
        const auto datagram = one.sealer.seal(as_bytes(content), kClock);
        RC_ASSERT(datagram.size() == one.sealer.sealed_size(content.size()));
        const auto opened = two.sealer.open(datagram);
        RC_ASSERT(!opened.rejection);
        RC_ASSERT(as_text(opened.content) == content);
        RC_ASSERT(opened.sent_at_us == kClock);
    }));
}

TEST_CASE("any flipped bit is refused") {
    Side one({test_key(1)});
    const auto datagram = one.sealer.seal(text("hello"), kClock);
    for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
        auto altered = datagram;
        altered[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
        CHECK(one.sealer.open(altered).rejection);
    }
}

TEST_CASE("refusals have their reasons") {
    Side one({test_key(1)});
    Side other({test_key(2)});
    Side open_side({});
    const auto datagram = one.sealer.seal(text("hello"), kClock);
    CHECK(refused(other, datagram) == DatagramRejection::unknown_key);
    CHECK(refused(open_side, datagram) == DatagramRejection::sealed);
    CHECK(refused(one, open_side.sealer.seal(text("hello"), kClock)) ==
          DatagramRejection::unsealed);
    CHECK(refused(one, {}) == DatagramRejection::too_short);
    CHECK(refused(one, std::vector<std::byte>(1)) == DatagramRejection::too_short);
    CHECK(refused(one, std::vector<std::byte>(65507)) == DatagramRejection::too_long);
    CHECK(refused(one, std::vector<std::byte>(100)) == DatagramRejection::not_weir);
    for (std::size_t length = 0; length < datagram.size(); ++length) {
        const DatagramRejection reason = refused(one, ByteSpan(datagram).first(length));
        CHECK((reason == DatagramRejection::too_short || reason == DatagramRejection::forged));
    }
    auto later = datagram;
    later[2] = std::byte{3};
    CHECK(refused(one, later) == DatagramRejection::version);
    later[2] = std::byte{2};
    later[3] = std::byte{9};
    CHECK(refused(one, later) == DatagramRejection::version);
    auto altered = datagram;
    altered.back() ^= std::byte{1};
    CHECK(refused(one, altered) == DatagramRejection::forged);
}

TEST_CASE("a rotation: first accept the new key, then send with it, then drop the old one") {
    Side one({test_key(1)});
    Side two({test_key(1)}, 2);
    const auto passes = [&](Side& from, Side& to) {
        return !to.sealer.open(from.sealer.seal(text("x"), kClock)).rejection;
    };
    const std::vector<Key> before{test_key(1), test_key(2)};
    const std::vector<Key> after{test_key(2), test_key(1)};
    const std::vector<Key> done{test_key(2)};
    for (const auto& ring : {before, after, done}) {
        one.sealer.set_keys(ring);
        CHECK(passes(one, two));
        CHECK(passes(two, one));
        two.sealer.set_keys(ring);
        CHECK(passes(one, two));
        CHECK(passes(two, one));
    }
    Side old({test_key(1)}, 3);
    CHECK(refused(one, old.sealer.seal(text("x"), kClock)) == DatagramRejection::unknown_key);
}

TEST_CASE("a third key is ignored") {
    Side one({test_key(1), test_key(2), test_key(3)});
    Side third({test_key(3)});
    CHECK(refused(one, third.sealer.seal(text("x"), kClock)) == DatagramRejection::unknown_key);
}

TEST_CASE("nonces do not repeat; a seeded source repeats from its seed") {
    Side one({test_key(1)});
    CHECK(one.sealer.seal(text("x"), kClock) != one.sealer.seal(text("x"), kClock));
    CHECK(Side({test_key(1)}, 5).sealer.seal(text("x"), kClock) ==
          Side({test_key(1)}, 5).sealer.seal(text("x"), kClock));
    SystemNonces system;
    std::array<std::byte, 24> a{};
    std::array<std::byte, 24> b{};
    system.fill(a);
    system.fill(b);
    CHECK(a != b);
}

TEST_CASE("without a key nothing is sealed, and it says so") {
    Side one({});
    CHECK(one.sealer.insecure());
    const auto datagram = one.sealer.seal(text("hello"), kClock);
    CHECK(datagram.size() == kClearHeader + 5);
    CHECK(as_text(one.sealer.open(datagram).content) == "hello");
    CHECK(one.sealer.open(datagram).sent_at_us == kClock);
}

TEST_CASE("a key is known by a short id that travels in the clear") {
    Side one({test_key(1), test_key(2)});
    const auto datagram = one.sealer.seal(text("hello"), kClock);
    CHECK(claimed_key(datagram) == key_id(test_key(1)));
    CHECK(one.sealer.key_ids() == std::vector{key_id(test_key(1)), key_id(test_key(2))});
    CHECK(one.sealer.open(datagram).key == key_id(test_key(1)));
    CHECK(one.sealer.seals_with(key_id(test_key(1))));
    CHECK_FALSE(one.sealer.seals_with(key_id(test_key(2))));
    Side second({test_key(2)}, 3);
    CHECK(one.sealer.open(second.sealer.seal(text("x"), kClock)).key == key_id(test_key(2)));
    CHECK(to_text(0x00ab'0102) == "00ab0102");
    Side open_side({});
    CHECK(claimed_key(open_side.sealer.seal(text("x"), kClock)) == 0);
    CHECK(claimed_key(text("wr")) == 0);
    CHECK(claimed_key(text("not a datagram of ours")) == 0);
}

}  // namespace
}  // namespace weir::gossip
