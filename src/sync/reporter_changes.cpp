// What the reporter does when owners, members or definitions have changed.
#include <utility>

#include "base/assert.h"
#include "sync/reporter.h"

namespace weir::sync {
namespace {

/// New owners of limits at rest are told within this time: half of that in which they listen.
constexpr double kToldWithinSeconds = 0.5;

}  // namespace

void Reporter::shard_changed(membership::Shard shard, const membership::OwnerList& owners,
                             Instant now) {
    for (const auto& [key, slot] : by_key_) {
        if (membership::shard_of(key.quota) != shard) {
            continue;
        }
        SyncedLimit& limit = slots_[slot];
        const bool lately = now - limit.touched < settings_.user_memory;
        if (!limit.set_owners(owners, self_) || limit.awake) {
            continue;
        }
        if (lately) {
            add_to_awake(slot, now);
        } else if (limit.resting) {
            questions_.add(slot, now + from_seconds(kToldWithinSeconds * random_.unit()));
        }
    }
}

void Reporter::lost(const gossip::MemberId& owner) {
    for (const std::uint32_t slot : awake_) {
        slots_[slot].lost(owner);
    }
}

void Reporter::distrust(const gossip::MemberId& owner, Instant now) {
    for (const std::uint32_t slot : awake_) {
        SyncedLimit& limit = slots_[slot];
        OwnerView* view = limit.view_of(owner);
        if (view == nullptr) {
            continue;
        }
        view->distrust();
        if (const auto counts = limiter_.read(limit.ref, now)) {
            install(limit, *counts, now);
        }
    }
}

void Reporter::ask_anew(Instant now) {
    for (auto& [owner, round] : rounds_) {
        round.link = {};
    }
    for (const auto& [key, slot] : by_key_) {
        for (OwnerView& view : slots_[slot].views) {
            view.ask_anew();
        }
        if (slots_[slot].resting) {
            slots_[slot].looked = Instant{};
            add_to_awake(slot, now);
        }
    }
}

void Reporter::refresh_parameters(Instant now) {
    for (const auto& [key, slot] : by_key_) {
        if (const auto identity = limiter_.identity(slots_[slot].ref)) {
            SyncedLimit& limit = slots_[slot];
            if (limit.resting && limit.parameters != identity->parameters) {
                reckon_rest(limit, now);
                wake(slot, now);
            }
            limit.parameters = identity->parameters;
            if (limit.isolation == identity->isolation &&
                limit.safe_capacity == identity->safe_capacity) {
                continue;
            }
            note_isolation(limit, false, now);  // looked at again in the next tick
            limit.isolation = identity->isolation;
            limit.safe_capacity = identity->safe_capacity;
        }
    }
}

void Reporter::drop_changed(Instant now) {
    std::vector<std::uint32_t> changed;
    for (const auto& [key, slot] : by_key_) {
        const SyncedLimit& limit = slots_[slot];
        const auto identity = limiter_.identity(limit.ref);
        if (!identity || identity->unit != limit.unit || identity->period != limit.period) {
            changed.push_back(slot);
        }
    }
    // All at once: they may be tens of thousands.
    for (const std::uint32_t slot : changed) {
        slots_[slot].awake = false;
    }
    std::erase_if(awake_, [this](std::uint32_t slot) { return !slots_[slot].awake; });
    WEIR_ASSERT(changed.size() <= by_key_.size());
    for (const std::uint32_t slot : changed) {
        remove(slot, now);
    }
}

}  // namespace weir::sync
