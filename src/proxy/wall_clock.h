#pragma once
// The wall clock of one worker, for what clients read: the field Date, and the second in which a
// limit is free again. It reads the system's wall clock once a second and follows the monotonic
// clock in between, so that asking for it costs an addition. When somebody sets the system's clock,
// it follows within a second.
//
// Belongs to one worker, which is the only thread that uses it.

#include <string>
#include <string_view>

#include "base/instant.h"

namespace weir::proxy {

class WallClock {
  public:
    /// The time since 1970 at the instant `now`, which is about the present.
    [[nodiscard]] Duration at(Instant now);
    /// The value of Date at the instant `now` (RFC 9110, 5.6.7). Valid until the next call.
    [[nodiscard]] std::string_view date(Instant now);

  private:
    Instant read_at_{};
    Duration ahead_{};  // of the monotonic time line
    bool has_read_ = false;
    std::string date_;
    std::chrono::seconds shown_{-1};  // the second that `date_` says
};

}  // namespace weir::proxy
