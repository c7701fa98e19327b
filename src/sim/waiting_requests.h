#pragma once
// The requests that wait for their turn in one simulated process, in the queues that a worker of
// the proxy has. Belongs to its SimulatedSidecar, whose limiter and thread it borrows; not
// thread-safe. Instants are those of the process's own clock.

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "limiter/limiter.h"
#include "limiter/wait_queues.h"
#include "sim/decided_request.h"

namespace weir::sim {

class WaitingRequests {
  public:
    WaitingRequests(limiter::Limiter& limiter, limiter::ThreadContext& thread)
        : limiter_(limiter), thread_(thread) {}
    WaitingRequests(const WaitingRequests&) = delete;
    WaitingRequests& operator=(const WaitingRequests&) = delete;
    ~WaitingRequests();

    /// Has a request wait that the limiter has just refused (Decision::can_wait). False when the
    /// queue is full. The text of the leaf must stay valid.
    [[nodiscard]] bool join(std::string_view leaf, std::uint32_t quota,
                            const limiter::Decision& refusal, Instant now);
    /// Decides about those whose turn it is, and refuses those that have waited for the longest
    /// time that their quota allows.
    [[nodiscard]] std::vector<DecidedRequest> serve(Instant now);
    [[nodiscard]] std::size_t size() const { return requests_.size(); }

  private:
    struct Request final : limiter::Waiter {
        explicit Request(WaitingRequests& owner) : all(owner) {}
        ~Request() override = default;
        void called() override { all.decide(*this); }

        WaitingRequests& all;
        std::string_view leaf;
        std::uint32_t quota = 0;
        Instant since{};
        Instant until{};
        limiter::WaitPlace place;
        bool ended = false;
    };

    void decide(Request& request);
    [[nodiscard]] bool move(Request& request, const limiter::Decision& refusal);
    void leave(Request& request);
    void end(Request& request, const limiter::Decision& decision);

    limiter::Limiter& limiter_;
    limiter::ThreadContext& thread_;
    limiter::WaitQueues queues_;
    std::list<Request> requests_;  // in order of arrival
    std::vector<DecidedRequest> decided_;
    Instant now_{};
};

}  // namespace weir::sim
