#include "sync/due_queue.h"

#include <utility>

#include "base/assert.h"

namespace weir::sync {

void DueQueue::add(std::uint32_t slot, Instant when) {
    if (slot >= due_.size()) {
        due_.resize(slot + std::size_t{1}, kNever);
    }
    if (when >= due_[slot]) {
        return;
    }
    due_[slot] = when;
    queue_.emplace(when, slot);
    if (queue_.size() > 2 * due_.size() + kSpare) {
        drop_outdated();
    }
    WEIR_ASSERT(queue_.size() <= 2 * due_.size() + kSpare);
}

void DueQueue::remove(std::uint32_t slot) {
    if (slot < due_.size()) {
        due_[slot] = kNever;
    }
}

std::optional<std::uint32_t> DueQueue::take(Instant now) {
    while (!queue_.empty() && queue_.top().first <= now) {
        const auto [when, slot] = queue_.top();
        queue_.pop();
        WEIR_ASSERT(slot < due_.size());
        if (due_[slot] == when) {
            due_[slot] = kNever;
            return slot;
        }
    }
    return std::nullopt;
}

void DueQueue::drop_outdated() {
    std::vector<Entry> entries;
    for (std::uint32_t slot = 0; slot < due_.size(); ++slot) {
        if (due_[slot] != kNever) {
            entries.emplace_back(due_[slot], slot);
        }
    }
    queue_ = decltype(queue_)(std::greater<>(), std::move(entries));
    WEIR_ASSERT(queue_.size() <= due_.size());
}

}  // namespace weir::sync
