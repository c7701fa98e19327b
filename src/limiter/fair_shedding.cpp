#include "limiter/fair_shedding.h"

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "base/relaxed.h"
#include "limiter/decay.h"

namespace weir::limiter {
namespace {

/// e^(-kTickSeconds/kChildWindow).
constexpr PowerTable kChildDecay{0.99895197};
/// A key lies in one of so many places that are neighbours.
constexpr std::size_t kPlaces = 4;
constexpr std::size_t kParentPlaces = 8;
/// A parent that has not shed for so long may lose its place.
constexpr std::uint32_t kKeptFor = 10 * FairShedding::kTicksPerSecond;

double decayed(std::uint64_t word, std::uint32_t tick) {
    const Recent recent = unpack_recent(word);
    return static_cast<double>(recent.sum * kChildDecay(ticks_between(recent.tick, tick)));
}

std::size_t first_place(std::uint64_t key) {
    return mix(key) % (FairShedding::kChildren / kPlaces) * kPlaces;
}

std::size_t parent_place(std::uint32_t record, std::size_t step) {
    return (mix(record) + step) % FairShedding::kParents;
}

}  // namespace

// --- parents -------------------------------------------------------------------------------------

double FairShedding::Parent::at(double passing) const {
    const auto share = static_cast<float>(std::clamp(passing, 0.0, 1.0));
    const auto bits = std::bit_cast<std::uint32_t>(share);
    if (bits < kLeastBits) {
        return static_cast<double>(line[0].load(kRelaxed) * share / share_at(0));
    }
    const std::uint32_t knot = std::min((bits - kLeastBits) >> kStepBits, kKnots - 1);
    const float below = line[knot].load(kRelaxed);
    if (knot == kKnots - 1) {
        return static_cast<double>(below);
    }
    const float part = (share - share_at(knot)) / (share_at(knot + 1) - share_at(knot));
    WEIR_ASSERT(part >= 0 && part <= 1);
    return static_cast<double>(below + part * (line[knot + 1].load(kRelaxed) - below));
}

const FairShedding::Parent* FairShedding::find_parent(std::uint32_t record) const {
    for (std::size_t step = 0; step < kParentPlaces; ++step) {
        const Parent& parent = parents_[parent_place(record, step)];
        if (parent.record.load(kRelaxed) == record) {
            return &parent;
        }
    }
    return nullptr;
}

/// Notes that the parent sheds. Gives it a place if it has none and one is free.
void FairShedding::use_parent(std::uint32_t record, std::uint32_t tick) {
    if (auto* known = const_cast<Parent*>(find_parent(record))) {
        if (known->used.load(kRelaxed) != tick) {
            known->used.store(tick, kRelaxed);
        }
        return;
    }
    for (std::size_t step = 0; step < kParentPlaces; ++step) {
        Parent& parent = parents_[parent_place(record, step)];
        std::uint32_t old = parent.record.load(kRelaxed);
        const bool free = old == 0 || ticks_between(parent.used.load(kRelaxed), tick) > kKeptFor;
        if (free && parent.record.compare_exchange_strong(old, record, kRelaxed)) {
            parent.valid.store(0, kRelaxed);
            parent.used.store(tick, kRelaxed);
            return;
        }
    }
    without_place_.fetch_add(1, kRelaxed);
}

const FairShedding::Parent* FairShedding::told_parent(std::uint32_t record,
                                                      std::uint32_t tick) const {
    const Parent* parent = find_parent(record);
    const bool known = parent != nullptr && parent->valid.load(std::memory_order_acquire) != 0 &&
                       ticks_between(parent->told.load(kRelaxed), tick) < kToldFor;
    return known ? parent : nullptr;
}

double FairShedding::line_of(std::uint32_t parent, double passing, std::int64_t now) const {
    const Parent* known = told_parent(parent, tick_of(now));
    return known == nullptr ? 0 : known->at(passing);
}

// --- children ------------------------------------------------------------------------------------

const FairShedding::Place* FairShedding::find(std::uint64_t key) const {
    const std::size_t first = first_place(key);
    for (std::size_t i = first; i < first + kPlaces; ++i) {
        if (children_[i].key.load(kRelaxed) == key) {
            return &children_[i];
        }
    }
    return nullptr;
}

/// Gives the child the place of the one of its neighbours that was offered least, if that is less
/// than this request.
bool FairShedding::claim(std::uint64_t key, double offered, std::uint32_t tick) {
    const std::size_t first = first_place(key);
    Place* least = nullptr;
    double least_sum = offered;
    for (std::size_t i = first; i < first + kPlaces; ++i) {
        const bool free = children_[i].key.load(kRelaxed) == 0;
        const double sum = free ? 0 : decayed(children_[i].recent.load(kRelaxed), tick);
        if (sum < least_sum) {
            least = &children_[i];
            least_sum = sum;
        }
    }
    if (least == nullptr) {
        return false;
    }
    std::uint64_t old = least->key.load(kRelaxed);
    if (least->key.compare_exchange_strong(old, key, kRelaxed)) {
        least->recent.store(pack(Recent{static_cast<float>(offered), tick}), kRelaxed);
        least->told.store(0, kRelaxed);
        least->mark.store(0, kRelaxed);
    }
    return true;
}

double FairShedding::rate_of(const Place& place, std::uint32_t tick) {
    return decayed(place.recent.load(kRelaxed), tick) / kChildWindow;
}

void FairShedding::note(const FairChild& child, double offered, std::int64_t now) {
    WEIR_ASSERT(child.head != 0 && child.parent != 0);
    const std::uint32_t tick = tick_of(now);
    use_parent(child.parent, tick);
    auto* place = const_cast<Place*>(find(child.key()));
    if (place == nullptr) {
        if (!claim(child.key(), offered, tick) && offered > 0) {
            without_place_.fetch_add(1, kRelaxed);
        }
        return;
    }
    std::uint64_t old = place->recent.load(kRelaxed);
    while (!place->recent.compare_exchange_weak(
        old, pack(Recent{static_cast<float>(decayed(old, tick) + offered), tick}), kRelaxed)) {
    }
}

double FairShedding::refusal(const FairChild& child, double weight, double p,
                             std::int64_t now) const {
    WEIR_ASSERT(p > 0 && child.share > 0);
    const std::uint32_t tick = tick_of(now);
    const Parent* parent = told_parent(child.parent, tick);
    const Place* place = find(child.key());
    if (parent == nullptr || p >= 1) {
        return p;
    }
    // With the request itself: so the mean of line/rate over all requests comes out right.
    double rate = ((place == nullptr ? 0 : decayed(place->recent.load(kRelaxed), tick)) + weight) /
                  kChildWindow;
    const Recent told = place == nullptr ? Recent{} : unpack_recent(place->told.load(kRelaxed));
    if (told.tick != 0 && ticks_between(told.tick, tick) < kToldFor) {
        rate += static_cast<double>(told.sum);
    } else {
        rate = std::max(rate, static_cast<double>(parent->rest.load(kRelaxed)) * child.share);
    }
    const double line = parent->at(1 - p) * child.share;
    return rate > line ? 1 - line / rate : 0;
}

}  // namespace weir::limiter
