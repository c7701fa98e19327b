#pragma once
// The pauses between two tries to connect to an upstream that restarts. Each is twice as long as
// the one before, up to a bound. With several addresses, all of which one try goes through, they
// are that many times longer, so that the tries of all waiting requests cost about the same.
// Not thread-safe; each waiting request owns one.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/instant.h"

namespace weir::proxy {

class RestartPauses {
  public:
    static constexpr Duration kFirst = std::chrono::milliseconds(10);
    static constexpr Duration kLongest = std::chrono::milliseconds(160);
    /// However many addresses there are.
    static constexpr Duration kBound = std::chrono::seconds(1);

    /// The next pause, when the upstream has so many addresses now.
    [[nodiscard]] Duration next(std::size_t addresses) {
        const auto pause = next_;
        next_ = std::min(2 * next_, kLongest);
        const auto most = static_cast<std::size_t>(kBound / kFirst);
        const auto times = std::clamp<std::size_t>(addresses, 1, most);
        return std::min(pause * static_cast<Duration::rep>(times), kBound);
    }

  private:
    Duration next_ = kFirst;
};

}  // namespace weir::proxy
