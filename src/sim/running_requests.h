#pragma once
// The admitted requests of a simulated fleet that have not ended yet. The World asks it when each
// ends. Not thread-safe; it owns the charges of the requests. It draws times from a generator of
// its own, so that stories without times are the same as before.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "base/random.h"
#include "sim/decided_request.h"

namespace weir::sim {

class RunningRequests {
  public:
    /// A process: the number of its sidecar, and SimulatedSidecar::epoch().
    struct Place {
        std::uint32_t sidecar = 0;
        std::uint32_t epoch = 0;
        friend bool operator==(const Place&, const Place&) = default;
    };
    struct Request {
        Place at;
        DecidedRequest decided;
    };

    /// `takes`: how long a request is in flight, in seconds, times a random factor of 0.5 to 1.5;
    /// 0: no time.
    RunningRequests(double takes, std::uint32_t sidecars, Random random)
        : takes_(takes), random_(random), processes_(sidecars) {}

    /// How long the next request will be in flight if it is admitted, in seconds.
    [[nodiscard]] double draw_time() { return takes_ > 0 ? takes_ * (0.5 + random_.unit()) : 0; }
    /// Notes an admitted request and returns its number, which is its own until take().
    [[nodiscard]] std::uint32_t add(const Place& at, DecidedRequest request);
    [[nodiscard]] const Request& request(std::uint32_t number) const { return requests_[number]; }
    [[nodiscard]] Request take(std::uint32_t number);
    /// The process of this sidecar has ended, and its requests with it. Their numbers are still to
    /// be taken.
    void ended(std::uint32_t sidecar) { processes_[sidecar] = {}; }
    /// How many requests are in flight in the process of this sidecar.
    [[nodiscard]] std::size_t count(std::uint32_t sidecar) const {
        return processes_[sidecar].count;
    }

  private:
    double takes_;
    Random random_;
    std::vector<Request> requests_;
    std::vector<std::uint32_t> free_;
    struct Process {
        std::uint32_t epoch = 0;
        std::size_t count = 0;
    };
    std::vector<Process> processes_;  // by sidecar
};

}  // namespace weir::sim
