// A charge comes out of its sealed form as it went in, also with all places that it can have.

#include "embed/sealed_charge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace weir::embed {
namespace {

constexpr std::uint64_t kCharges = 0x1234567890abcdef;
constexpr std::uint32_t kHighestId = (1U << 24) - 1;

limiter::Charge charge_of(std::size_t places) {
    limiter::Charge charge;
    charge.leaf.instance = 7;
    charge.leaf.generation = 255;
    charge.charged = 5;
    charge.version = 3;
    charge.response_bytes = 1.5F;
    charge.weights = {2, 3, 4};
    charge.places.weight = places > 0 ? 2.5 : 0;
    for (std::uint32_t i = 0; i < places; ++i) {
        charge.places.add({kHighestId - i, std::numeric_limits<std::uint32_t>::max() - i});
    }
    return charge;
}

bool same(const limiter::Places& one, const limiter::Places& other) {
    return one.weight == other.weight &&
           std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const limiter::Places::Place& a, const limiter::Places::Place& b) {
                          return a.record == b.record && a.count == b.count;
                      });
}

}  // namespace

TEST_CASE("a charge keeps its places when it is sealed, none, some or all of them") {
    for (std::size_t places = 0; places <= limiter::Places::kMost; ++places) {
        CAPTURE(places);
        const limiter::Charge charge = charge_of(places);
        const weir_charge sealed = seal(charge, kCharges);
        limiter::Charge opened = charge_of(1);  // what it had before does not matter
        REQUIRE(unseal(sealed, kCharges, opened));
        CHECK(same(opened.places, charge.places));
        CHECK(opened.leaf == charge.leaf);
        CHECK(opened.charged == charge.charged);
        CHECK(opened.version == charge.version);
        CHECK(opened.response_bytes == charge.response_bytes);
        CHECK(opened.weights.requests == charge.weights.requests);
        CHECK(opened.weights.request_bytes == charge.weights.request_bytes);
        CHECK(opened.weights.cost == charge.weights.cost);
        CHECK(opened.units == 1);
    }
}

TEST_CASE("several chains, places and the units of what was obtained have room beside each other") {
    limiter::Charge several = charge_of(limiter::Places::kMost);
    for (std::uint32_t i = 0; i < several.others.size(); ++i) {
        several.others[i].leaf.instance = kHighestId - i;
        several.others[i].leaf.generation = 201 + 2 * i;
        several.others[i].charged = 1U << i;
    }
    limiter::Charge opened;
    REQUIRE(unseal(seal(several, kCharges), kCharges, opened));
    CHECK(same(opened.places, several.places));
    for (std::size_t i = 0; i < several.others.size(); ++i) {
        CHECK(opened.others[i].leaf == several.others[i].leaf);
        CHECK(opened.others[i].charged == several.others[i].charged);
    }
    limiter::Charge obtained = charge_of(4);
    obtained.units = 12.25;
    opened = {};
    REQUIRE(unseal(seal(obtained, kCharges), kCharges, opened));
    CHECK(same(opened.places, obtained.places));
    CHECK(opened.units == 12.25);
}

TEST_CASE("a charge of nothing is all 0, and one with another tag is refused") {
    const weir_charge nothing = seal(limiter::Charge(), kCharges);
    CHECK(std::all_of(std::begin(nothing.opaque), std::end(nothing.opaque),
                      [](std::uint64_t word) { return word == 0; }));
    limiter::Charge opened;
    CHECK(unseal(nothing, kCharges + 1, opened));
    CHECK_FALSE(opened);
    CHECK_FALSE(unseal(seal(charge_of(2), kCharges), kCharges + 1, opened));
    CHECK(opened.places.empty());
}

}  // namespace weir::embed
