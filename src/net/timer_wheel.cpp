#include "net/timer_wheel.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::net {
namespace {

std::int64_t tick_before(Instant instant) { return instant.time_since_epoch() / TimerWheel::kTick; }

std::int64_t tick_after(Instant instant) {
    return tick_before(instant + TimerWheel::kTick - Duration(1));
}

}  // namespace

TimerEntry::~TimerEntry() {
    if (armed() && wheel_ != nullptr) {
        wheel_->cancel(*this);
    }
}

TimerWheel::Slot::Slot() {
    next_ = this;
    previous_ = this;
}

TimerWheel::Slot::~Slot() {
    next_ = nullptr;
    previous_ = nullptr;
}

bool TimerWheel::Slot::empty() const { return next_ == this; }

TimerWheel::TimerWheel(Instant now) : tick_(tick_before(now)) {}

TimerWheel::~TimerWheel() { WEIR_ASSERT(size_ == 0); }

void TimerWheel::link(Slot& slot, TimerEntry& entry) {
    entry.previous_ = slot.previous_;
    entry.next_ = &slot;
    slot.previous_->next_ = &entry;
    slot.previous_ = &entry;
}

void TimerWheel::unlink(TimerEntry& entry) {
    entry.previous_->next_ = entry.next_;
    entry.next_->previous_ = entry.previous_;
    entry.next_ = nullptr;
    entry.previous_ = nullptr;
}

void TimerWheel::arm(TimerEntry& entry, Instant deadline) {
    if (entry.armed()) {
        unlink(entry);
    } else {
        ++size_;
    }
    entry.wheel_ = this;
    entry.due_tick_ = std::max(tick_after(deadline), tick_ + 1);
    link(slots_[slot_of(entry.due_tick_)], entry);
}

void TimerWheel::cancel(TimerEntry& entry) {
    if (!entry.armed()) {
        return;
    }
    unlink(entry);
    --size_;
}

void TimerWheel::expire_slot(Slot& slot) {
    if (slot.empty()) {
        return;
    }
    // The entries are moved to a list of their own first, because expired() may arm and cancel any
    // entry.
    Slot visiting;
    visiting.next_ = slot.next_;
    visiting.previous_ = slot.previous_;
    visiting.next_->previous_ = &visiting;
    visiting.previous_->next_ = &visiting;
    slot.next_ = &slot;
    slot.previous_ = &slot;
    while (!visiting.empty()) {
        TimerEntry& entry = *visiting.next_;
        unlink(entry);
        if (entry.due_tick_ > tick_) {
            link(slot, entry);  // due in a later round of the wheel
            continue;
        }
        --size_;
        entry.expired();
    }
}

void TimerWheel::advance(Instant now) {
    const std::int64_t target = tick_before(now);
    if (target <= tick_) {
        return;
    }
    // After a long pause one round is enough, because it visits every slot.
    const std::int64_t first = std::max(tick_ + 1, target - static_cast<std::int64_t>(kSlots) + 1);
    tick_ = target;
    if (size_ == 0) {
        return;
    }
    for (std::int64_t tick = first; tick <= target; ++tick) {
        expire_slot(slots_[slot_of(tick)]);
    }
}

Duration TimerWheel::idle_time(Instant now, Duration longest) const {
    if (size_ == 0) {
        return longest;
    }
    const std::int64_t ticks = std::min<std::int64_t>(longest / kTick, kSlots);
    for (std::int64_t i = 1; i <= ticks; ++i) {
        if (slots_[slot_of(tick_ + i)].empty()) {
            continue;
        }
        const Instant due{Duration((tick_ + i) * kTick.count())};
        return std::clamp(due - now, Duration(0), longest);
    }
    return longest;
}

}  // namespace weir::net
