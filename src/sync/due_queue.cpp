#include "sync/due_queue.h"

#include <utility>

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
}

}  // namespace weir::sync
