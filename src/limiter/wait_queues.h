#pragma once
// The requests of one worker that wait for their turn, one queue for each instance of a quota that
// refused them. In a queue those that came first are called first; who is called decides again
// whether the limits admit it. While they do not, the queue rests for a while. One pass calls a
// bounded number of requests, and the next pass goes on behind them.
//
// Thread-safety: none; each worker has its own. Ownership: a Waiter belongs to its request and
// leaves its queue before it is destroyed.
// Invariants: reads no clock and allocates nothing after it was made. A queue has the slot that the
// limiter gave its instance (WaitPlace).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/instant.h"
#include "limiter/decision.h"

namespace weir::limiter {

/// A request in a queue.
class Waiter {
  public:
    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    [[nodiscard]] bool queued() const { return slot_ != 0; }

  protected:
    virtual ~Waiter() = default;

  private:
    friend class WaitQueues;
    /// It is this request's turn. It decides again at once, and then leaves the queue or has it
    /// rest. It may destroy itself.
    virtual void called() = 0;

    Waiter* next_ = nullptr;
    Waiter* previous_ = nullptr;
    std::uint32_t slot_ = 0;
    Instant since_{};
};

class WaitQueues {
  public:
    /// How many requests one pass calls.
    static constexpr std::size_t kCallsPerPass = 256;
    /// A queue whose turn has come, and which limits refuse, rests for at least so long ...
    static constexpr Duration kShortestRest = std::chrono::milliseconds(4);
    /// ... and at most so long, because room may come back sooner than the limiter could know.
    static constexpr Duration kLongestRest = std::chrono::milliseconds(250);

    WaitQueues();

    /// Puts the request into the queue of this slot, behind all that came before it.
    void join(Waiter& waiter, std::uint32_t slot, Instant since);
    /// Takes the request out of its queue, whose rest goes on.
    void leave(Waiter& waiter);
    /// The same of one that was admitted: the next one is called at once.
    void pass(Waiter& waiter);
    /// After a refusal: the queue that the waiter is in is served again when the limits may admit
    /// it, or at the waiter's `last` chance.
    void rest(const Waiter& waiter, const Decision& refusal, Instant now, Instant last);
    /// Calls requests whose queues do not rest. True when more could have been called.
    [[nodiscard]] bool serve(Instant now);
    [[nodiscard]] bool empty() const { return active_ == 0; }
    /// Whether the waiter is the first of its queue, and the queue does not rest.
    [[nodiscard]] bool is_due(const Waiter& waiter, Instant now) const;
    /// The first in the queue that the waiter is in.
    [[nodiscard]] bool is_first(const Waiter& waiter) const;

  private:
    struct Queue {
        Waiter* first = nullptr;
        Waiter* last = nullptr;
        Instant due{};
        std::uint32_t place = 0;  // in order_
    };
    void serve_queue(std::uint32_t slot, Instant now, std::size_t& calls);

    /// By slot, and the slots of the queues that are not empty.
    std::unique_ptr<std::array<Queue, kWaitSlots + 1>> queues_;
    std::unique_ptr<std::array<std::uint32_t, kWaitSlots>> order_;
    std::size_t active_ = 0;
    std::size_t begin_ = 0;  // where the next pass begins
};

}  // namespace weir::limiter
