#include "sync/due_queue.h"

#include <algorithm>
#include <functional>

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
    queue_.emplace_back(when, slot);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
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

void DueQueue::move(std::uint32_t from, std::uint32_t to) {
    WEIR_ASSERT(from != to && (to >= due_.size() || due_[to] == kNever));
    if (from >= due_.size() || due_[from] == kNever) {
        return;
    }
    const Instant when = due_[from];
    due_[from] = kNever;
    add(to, when);
}

void DueQueue::shrink(std::size_t slots) {
    if (slots >= due_.size()) {
        return;
    }
    due_.resize(slots);
    give_back(due_);
    if (queue_.size() > 2 * due_.size() + kSpare) {
        drop_outdated();
    }
    WEIR_ASSERT(due_.size() == slots && queue_.size() <= 2 * slots + kSpare);
}

std::optional<std::uint32_t> DueQueue::take(Instant now) {
    while (!queue_.empty() && queue_.front().first <= now) {
        const auto [when, slot] = queue_.front();
        std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
        queue_.pop_back();
        give_back(queue_);
        if (slot < due_.size() && due_[slot] == when) {
            due_[slot] = kNever;
            return slot;
        }
    }
    return std::nullopt;
}

void DueQueue::drop_outdated() {
    MappedVector<Entry> entries;
    for (std::uint32_t slot = 0; slot < due_.size(); ++slot) {
        if (due_[slot] != kNever) {
            entries.emplace_back(due_[slot], slot);
        }
    }
    std::make_heap(entries.begin(), entries.end(), std::greater<>());
    queue_.swap(entries);
    WEIR_ASSERT(queue_.size() <= due_.size());
}

}  // namespace weir::sync
