#include "embed/sealed_charge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "base/assert.h"

namespace weir::embed {
namespace {

constexpr std::size_t kTag = std::size(weir_charge{}.opaque) - 1;
constexpr std::uint32_t kIdBits = 24;  // the rest of a word is the instance's generation
constexpr std::uint32_t kIdMask = (1U << kIdBits) - 1;

/// In the place of a depth: the last chain's words hold the units of what was obtained, which has
/// one chain only.
constexpr std::uint8_t kUnits = 255;
constexpr std::size_t kLast = limiter::kMaxLeaves - 1;

/// A place under a limit of requests in flight: the number of the count above the record. 0, which
/// no place packs into, says that there is none.
using PackedPlace = std::uint64_t;

/// Everything of a charge, in at most as many words as a weir_charge has beside the tag.
struct Packed {
    std::array<std::uint32_t, limiter::kMaxLeaves> instances;
    std::array<std::uint32_t, limiter::kMaxLeaves> resumes;
    std::array<std::uint32_t, limiter::kMaxLeaves> charged;
    std::array<std::uint8_t, limiter::kMaxLeaves> overflow_depths;
    std::array<std::uint8_t, limiter::kMaxLeaves> unjudged_depths;
    std::uint32_t version;
    float response_bytes;
    double requests;
    double request_bytes;
    double cost;
    double places_weight;
    std::array<PackedPlace, limiter::Places::kMost> places;  // those that there are come first
};
static_assert(sizeof(Packed) <= kTag * sizeof(std::uint64_t));
static_assert(std::is_trivially_copyable_v<Packed>);

std::uint32_t pack_id(std::uint32_t id, std::uint32_t generation) {
    WEIR_ASSERT(id <= kIdMask && generation < 1U << (32 - kIdBits));
    return id | generation << kIdBits;
}

void pack(Packed& packed, std::size_t i, const limiter::LeafId& leaf, std::uint32_t charged) {
    packed.instances[i] = pack_id(leaf.instance, leaf.generation);
    packed.resumes[i] = pack_id(leaf.resume, leaf.resume_generation);
    packed.charged[i] = charged;
    packed.overflow_depths[i] = leaf.overflow_depth;
    packed.unjudged_depths[i] = leaf.unjudged_depth;
}

limiter::ChargedChain unpack(const Packed& packed, std::size_t i) {
    limiter::ChargedChain chain;
    chain.leaf.instance = packed.instances[i] & kIdMask;
    chain.leaf.generation = packed.instances[i] >> kIdBits;
    chain.leaf.resume = packed.resumes[i] & kIdMask;
    chain.leaf.resume_generation = static_cast<std::uint16_t>(packed.resumes[i] >> kIdBits);
    chain.leaf.overflow_depth = packed.overflow_depths[i];
    chain.leaf.unjudged_depth = packed.unjudged_depths[i];
    chain.charged = packed.charged[i];
    return chain;
}

void pack(Packed& packed, const limiter::Places& places) {
    packed.places_weight = places.weight;
    std::size_t i = 0;
    for (const limiter::Places::Place& place : places) {
        WEIR_ASSERT(place.record != 0 && place.record <= kIdMask);
        packed.places[i++] = PackedPlace{place.count} << 32 | place.record;
    }
}

void unpack(const Packed& packed, limiter::Places& places) {
    places.clear();
    places.weight = packed.places_weight;
    for (const PackedPlace place : packed.places) {
        if (place == 0) {
            return;
        }
        places.add({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)});
    }
}

}  // namespace

weir_charge seal(const limiter::Charge& charge, std::uint64_t tag) {
    weir_charge sealed{};
    if (!charge && charge.places.empty()) {
        return sealed;
    }
    Packed packed{};
    pack(packed, 0, charge.leaf, charge.charged);
    for (std::size_t i = 0; i < charge.others.size(); ++i) {
        pack(packed, i + 1, charge.others[i].leaf, charge.others[i].charged);
    }
    if (charge.units != 1) {
        WEIR_ASSERT(!charge.others[kLast - 1].leaf);
        const auto units = std::bit_cast<std::uint64_t>(charge.units);
        packed.instances[kLast] = static_cast<std::uint32_t>(units >> 32);
        packed.resumes[kLast] = static_cast<std::uint32_t>(units);
        packed.overflow_depths[kLast] = kUnits;
    }
    packed.version = charge.version;
    packed.response_bytes = charge.response_bytes;
    packed.requests = charge.weights.requests;
    packed.request_bytes = charge.weights.request_bytes;
    packed.cost = charge.weights.cost;
    if (!charge.places.empty()) {
        pack(packed, charge.places);
    }
    std::memcpy(sealed.opaque, &packed, sizeof(packed));
    sealed.opaque[kTag] = tag;
    return sealed;
}

bool unseal(const weir_charge& sealed, std::uint64_t tag, limiter::Charge& charge) {
    const bool is_empty = std::all_of(std::begin(sealed.opaque), std::end(sealed.opaque),
                                      [](std::uint64_t word) { return word == 0; });
    if (is_empty) {
        return true;
    }
    if (sealed.opaque[kTag] != tag) {
        return false;
    }
    Packed packed{};
    std::memcpy(&packed, sealed.opaque, sizeof(packed));
    const limiter::ChargedChain first = unpack(packed, 0);
    charge.leaf = first.leaf;
    charge.charged = first.charged;
    const bool obtained = packed.overflow_depths[kLast] == kUnits;
    for (std::size_t i = 0; i < charge.others.size(); ++i) {
        const bool has_units = obtained && i + 1 == kLast;
        charge.others[i] = has_units ? limiter::ChargedChain() : unpack(packed, i + 1);
    }
    charge.units = obtained ? std::bit_cast<double>(std::uint64_t{packed.instances[kLast]} << 32 |
                                                    packed.resumes[kLast])
                            : 1;
    charge.version = packed.version;
    charge.response_bytes = packed.response_bytes;
    charge.weights = {packed.requests, packed.request_bytes, packed.cost};
    unpack(packed, charge.places);
    return true;
}

}  // namespace weir::embed
