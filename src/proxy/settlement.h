#pragma once
// Settles the charge of one admitted request: corrects it while bytes of its bodies pass and when
// the upstream states a cost, and gives it back if the response is free or the upstream was never
// reached. When it is destroyed the request has ended, and is no longer in flight for the limits
// that count that. A charge that may be corrected later than its instance is safe from being
// replaced is held; whoever runs the exchange says when that is due. Not thread-safe; lives as long
// as its request and borrows everything.

#include <cstdint>
#include <limits>

#include "base/instant.h"
#include "limiter/limiter_options.h"
#include "proxy/admission.h"

namespace weir::http {
class ResponseHead;
}

namespace weir::proxy {

class Settlement {
  public:
    /// During a long body the charge is corrected whenever this many bytes beyond those charged
    /// have passed, or this time.
    static constexpr std::uint64_t kStepBytes = 64 * 1024;
    static constexpr Duration kStepTime = std::chrono::milliseconds(250);

    /// How long a charge is not held. Its instance was just used, so it stays for twice as long in
    /// any case, and few requests last longer.
    static constexpr Duration kHoldAfter = limiter::kBusyFor / 2;

    Settlement(ClientSide& client, const ActiveSnapshot& snapshot, Judgement& judgement);
    ~Settlement();
    Settlement(const Settlement&) = delete;
    Settlement& operator=(const Settlement&) = delete;

    /// When the charge has to be held, if it is not yet and may be corrected; else never.
    [[nodiscard]] Instant hold_at() const { return hold_at_; }
    /// Called at least once between hold_at() and twice kHoldAfter behind the decision.
    void hold_if_due(Instant now) {
        if (now >= hold_at_) [[unlikely]] {
            hold();
        }
    }
    /// Holds the charge now, because nobody will come by for a while.
    void hold();

    /// Called with the head of the final response. Its status may be free; the cost that it states
    /// counts, and the field is dropped.
    void response_begins(http::ResponseHead& head);
    /// Called with the bytes of content that have come from the client so far.
    void request_came(std::uint64_t bytes) {
        if (bytes > charged_request_bytes_) {
            request_step(bytes);
        }
    }
    /// The request has become a tunnel after this many bytes of content. What passes from now on is
    /// charged step by step, each step as a weight of its own.
    void tunnel_begins(std::uint64_t request_bytes);
    /// Called with the bytes of content that have been sent to the client so far.
    void response_sent(std::uint64_t bytes) {
        if (bytes > charged_bytes_) {
            step(bytes);
        }
    }
    /// Called when the exchange is over. `own_status` is the status of the answer that weir gave in
    /// place of a response, or 0.
    void finish(bool reached_upstream, unsigned own_status, std::uint64_t request_bytes,
                std::uint64_t response_bytes);

  private:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] bool may_correct() const;
    void step(std::uint64_t bytes);
    void request_step(std::uint64_t bytes);
    void settle_request(double bytes, bool last);
    void add(limiter::Unit unit, std::uint64_t weight);
    void add_request(std::uint64_t bytes);
    void finish_tunnel(std::uint64_t request_bytes, std::uint64_t response_bytes);
    void correct(limiter::Unit unit, double charged, double actual, bool last);
    void state_cost(http::ResponseHead& head);
    void free_if(unsigned status);
    void give_back(Event event);

    ClientSide& client_;
    const ActiveSnapshot& snapshot_;
    Judgement& judgement_;
    /// The response bytes that are charged; kNever: no limit counts them.
    std::uint64_t charged_bytes_ = kNever;
    Instant last_step_{};
    /// The request bytes that are charged; kNever: they are not charged before the end.
    std::uint64_t charged_request_bytes_ = kNever;
    Instant last_request_step_{};
    bool request_stepped_ = false;
    bool tunnel_ = false;
    Instant hold_at_ = Instant::max();
    limiter::Held held_;
};

}  // namespace weir::proxy
