#pragma once
// Follows what the processes of a simulated fleet really admit in windows: for each request, it
// asks the limiter that admitted it in which window it counts. Not thread-safe; belongs to a Watch,
// whose facts it keeps true.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "limiter/window_schedule.h"
#include "sim/facts.h"
#include "sim/world.h"

namespace weir::sim {

class WindowWatch {
  public:
    /// A process tells owners what it has admitted after a tenth of a second at most, at a tick.
    static constexpr double kTold = 0.15;
    /// How long a window is remembered after its end, for those who judge it.
    static constexpr std::int64_t kRemembered = 5;

    /// `limits` must outlive it.
    explicit WindowWatch(const std::vector<LimitFact>& limits);

    /// A process, whose sidecar has this number, has just admitted a request under these limits.
    /// Returns the limits of windows among them, and the seconds in which their windows end.
    std::vector<std::pair<LimitIndex, std::int64_t>> admitted(World& world, std::uint32_t sidecar,
                                                              std::size_t process,
                                                              const std::vector<LimitIndex>& chain,
                                                              WindowTruths& truths);
    /// A process is about to end. If it was killed, or could not be heard, it may not have told
    /// all.
    void ending(World& world, std::uint32_t sidecar, std::size_t process, WindowTruths& truths);
    /// Once a second, after the state of the fleet was read.
    void second(Facts& facts);

  private:
    void follow(const WindowPlace& place, std::int64_t second, WindowTruths& truths);
    [[nodiscard]] std::int64_t planned_end(LimitIndex limit, const Facts& facts) const;

    const std::vector<LimitFact>& limits_;
    std::vector<std::shared_ptr<const limiter::WindowSchedule>> schedules_;  // by limit, or null
    /// By limit and process: the window that it was last seen in, and its newest admissions.
    struct Seen {
        std::int64_t end = 0;
        std::deque<double> newest;
    };
    std::map<std::pair<LimitIndex, std::size_t>, Seen> seen_;
};

}  // namespace weir::sim
