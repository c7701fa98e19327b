#include "limiter/waiting.h"

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

constexpr int kCountBits = 32;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

/// The upper half of a slot's word for an instance.
std::uint64_t key_of(std::uint32_t instance, std::uint32_t generation) {
    WEIR_ASSERT(instance != 0 && generation <= 0xff);
    return (std::uint64_t{generation} << 24 | instance) << kCountBits;
}

bool belongs(std::uint64_t word, std::uint64_t key) { return (word & ~kCountMask) == key; }

}  // namespace

std::uint32_t Waiting::slot_at(std::uint64_t key, std::uint32_t probe) const {
    WEIR_ASSERT(probe < kProbes);
    const std::uint64_t mixed = key * 0x9e3779b97f4a7c15U >> 40;
    return static_cast<std::uint32_t>((mixed + probe) % kWaitSlots);
}

/// Adds one to the slot's count: with `fresh` the first of a free slot, else one more of this key.
bool Waiting::join(std::uint32_t slot, std::uint64_t key, std::uint32_t most, bool fresh) {
    WEIR_ASSERT(slot < kWaitSlots && most > 0);
    std::uint64_t word = slots_[slot].load(kRelaxed);
    for (;;) {
        const bool fits = fresh ? word == 0 : belongs(word, key) && (word & kCountMask) < most;
        if (!fits) {
            return false;
        }
        if (slots_[slot].compare_exchange_weak(word, (fresh ? key : word) + 1,
                                               std::memory_order_acq_rel, kRelaxed)) {
            return true;
        }
    }
}

WaitPlace Waiting::begin(std::uint32_t instance, std::uint32_t most) {
    const std::uint32_t generation = store_.generation(instance);
    const std::uint64_t key = key_of(instance, generation);
    if (most == 0 || !store_.hold(instance, generation)) {
        return {};
    }
    for (const bool fresh : {false, true}) {
        for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
            const std::uint32_t slot = slot_at(key, probe);
            // Another thread may have taken a free slot for this instance since the first pass.
            if (join(slot, key, most, false) ||
                (fresh && (join(slot, key, most, true) || join(slot, key, most, false)))) {
                const WaitPlace place{slot + 1, instance, generation};
                confirm(place);
                return place;
            }
            if (belongs(slots_[slot].load(kRelaxed), key)) {
                store_.unhold(instance);
                return {};  // its queue is full
            }
        }
    }
    store_.unhold(instance);
    return {};
}

void Waiting::confirm(const WaitPlace& place) {
    WEIR_ASSERT(place);
    if (store_.live(place.instance, place.generation)) {
        // Whoever takes this flag away afterwards sees the place for which it was set.
        store_.record(place.instance).control.fetch_or(kWaiting, std::memory_order_release);
    }
}

void Waiting::end(const WaitPlace& place) {
    WEIR_ASSERT(place && place.slot <= kWaitSlots);
    auto& slot = slots_[place.slot - 1];
    std::uint64_t word = slot.load(kRelaxed);
    WEIR_ASSERT(belongs(word, key_of(place.instance, place.generation)));
    std::uint64_t after = 0;
    do {
        after = (word & kCountMask) == 1 ? 0 : word - 1;
        // Who sees the count of 0 sees what was set while it was above 0.
    } while (!slot.compare_exchange_weak(word, after, std::memory_order_acq_rel, kRelaxed));
    if (after == 0 && store_.live(place.instance, place.generation)) {
        store_.record(place.instance).control.fetch_and(~kWaiting, std::memory_order_acquire);
        // Another thread may have begun between the two, and its flag went with the former one.
        if (count(place.instance) > 0) {
            confirm(place);
        }
    }
    store_.unhold(place.instance);
}

std::uint32_t Waiting::count(std::uint32_t instance) const {
    const std::uint64_t key = key_of(instance, store_.generation(instance));
    std::uint64_t count = 0;
    for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
        const std::uint64_t word = slots_[slot_at(key, probe)].load(kRelaxed);
        count += belongs(word, key) ? word & kCountMask : 0;
    }
    return static_cast<std::uint32_t>(count);
}

}  // namespace weir::limiter
