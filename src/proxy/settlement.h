#pragma once
// What becomes of an admitted request's charge: corrected while the response's bytes flow and by
// the cost that the upstream states, given back if the response is free or the upstream was never
// reached. Not thread-safe; part of one request, on its worker's thread.

#include <cstdint>
#include <limits>

#include "base/instant.h"
#include "proxy/admission.h"

namespace weir::http {
class ResponseHead;
}

namespace weir::proxy {

class Settlement {
  public:
    /// A long response is corrected after this many bytes beyond what was charged, or this long.
    static constexpr std::uint64_t kStepBytes = 64 * 1024;
    static constexpr Duration kStepTime = std::chrono::milliseconds(250);

    Settlement(ClientSide& client, const ActiveSnapshot& snapshot, Admission& admission);
    ~Settlement();
    Settlement(const Settlement&) = delete;
    Settlement& operator=(const Settlement&) = delete;

    /// The final response's head: its status may be free, its cost counts and is taken out.
    void response_begins(http::ResponseHead& head);
    /// So much of its content has been sent to the client.
    void response_sent(std::uint64_t bytes) {
        if (bytes > charged_bytes_) {
            step(bytes);
        }
    }
    /// The exchange is over. `own_status`: that of weir's own answer instead of a response, or 0.
    void finish(bool reached_upstream, unsigned own_status, std::uint64_t request_bytes,
                std::uint64_t response_bytes);

  private:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] bool may_correct() const;
    void step(std::uint64_t bytes);
    void correct(limiter::Unit unit, double charged, double actual, bool last);
    void state_cost(http::ResponseHead& head);
    void free_if(unsigned status);
    void give_back(Event event);

    ClientSide& client_;
    const ActiveSnapshot& snapshot_;
    Admission& admission_;
    /// Response bytes that the charge stands for; kNever: nothing counts them.
    std::uint64_t charged_bytes_ = kNever;
    Instant last_step_{};
    std::uint32_t held_ = 0;
};

}  // namespace weir::proxy
