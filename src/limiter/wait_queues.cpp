#include "limiter/wait_queues.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::limiter {

WaitQueues::WaitQueues()
    : queues_(std::make_unique<std::array<Queue, kWaitSlots + 1>>()),
      order_(std::make_unique<std::array<std::uint32_t, kWaitSlots>>()) {}

void WaitQueues::join(Waiter& waiter, std::uint32_t slot, Instant since) {
    WEIR_ASSERT(!waiter.queued() && slot != 0 && slot <= kWaitSlots);
    Queue& queue = (*queues_)[slot];
    if (queue.first == nullptr) {
        queue.place = static_cast<std::uint32_t>(active_);
        queue.due = since;
        (*order_)[active_++] = slot;
    }
    waiter.slot_ = slot;
    waiter.since_ = since;
    // A request that comes from another queue has waited before; it belongs near the front.
    Waiter* before = queue.last;
    if (before != nullptr && before->since_ > since) {
        before = nullptr;
        for (Waiter* next = queue.first; next->since_ <= since; next = next->next_) {
            before = next;
        }
    }
    waiter.previous_ = before;
    waiter.next_ = before == nullptr ? queue.first : before->next_;
    (before == nullptr ? queue.first : before->next_) = &waiter;
    (waiter.next_ == nullptr ? queue.last : waiter.next_->previous_) = &waiter;
}

void WaitQueues::leave(Waiter& waiter) {
    WEIR_ASSERT(waiter.queued());
    Queue& queue = (*queues_)[waiter.slot_];
    (waiter.previous_ == nullptr ? queue.first : waiter.previous_->next_) = waiter.next_;
    (waiter.next_ == nullptr ? queue.last : waiter.next_->previous_) = waiter.previous_;
    waiter.slot_ = 0;
    waiter.next_ = waiter.previous_ = nullptr;
    if (queue.first == nullptr) {
        const std::uint32_t moved = (*order_)[--active_];
        (*order_)[queue.place] = moved;
        (*queues_)[moved].place = queue.place;
    }
}

void WaitQueues::pass(Waiter& waiter) {
    WEIR_ASSERT(waiter.queued());
    (*queues_)[waiter.slot_].due = Instant{};
    leave(waiter);
}

bool WaitQueues::is_due(const Waiter& waiter, Instant now) const {
    return is_first(waiter) && (*queues_)[waiter.slot_].due <= now;
}

bool WaitQueues::is_first(const Waiter& waiter) const {
    return waiter.queued() && (*queues_)[waiter.slot_].first == &waiter;
}

void WaitQueues::rest(const Waiter& waiter, const Decision& refusal, Instant now, Instant last) {
    WEIR_ASSERT(waiter.queued());
    // For the laws each try is a request that is offered. The smaller the chance, the longer is the
    // rest, so that many queues together do not ask for a large multiple of the limit, which a
    // fleet could hold only with small errors. Where there is no chance, the limits have room for
    // certain after `wait`; a quarter of it finds also what comes sooner.
    const double refused = refusal.discard_probability;
    WEIR_ASSERT(refused >= 0 && refused <= 1);
    const Duration rest =
        refused < 1 ? from_seconds(std::min(to_seconds(kLongestRest),
                                            to_seconds(kShortestRest) * refused / (1 - refused)))
                    : refusal.wait / 4;
    const Instant due = now + std::clamp(rest, kShortestRest, kLongestRest);
    (*queues_)[waiter.slot_].due = std::clamp(last - kShortestRest, now + kShortestRest, due);
}

void WaitQueues::serve_queue(std::uint32_t slot, Instant now, std::size_t& calls) {
    WEIR_ASSERT(slot != 0 && slot <= kWaitSlots);
    Queue& queue = (*queues_)[slot];
    while (queue.first != nullptr && queue.due <= now && calls > 0) {
        --calls;
        queue.due = now + kShortestRest;  // unless the request leaves, or says something else
        queue.first->called();
    }
}

bool WaitQueues::serve(Instant now) {
    std::size_t calls = kCallsPerPass;
    for (std::size_t left = active_; left > 0 && active_ > 0 && calls > 0; --left) {
        begin_ = begin_ >= active_ ? 0 : begin_;
        const std::uint32_t slot = (*order_)[begin_];
        serve_queue(slot, now, calls);
        // A queue that has emptied has given its place in the order to the last one.
        if (begin_ < active_ && (*order_)[begin_] == slot) {
            ++begin_;
        }
    }
    return calls == 0;
}

}  // namespace weir::limiter
