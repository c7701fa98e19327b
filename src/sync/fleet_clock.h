#pragma once
// The wall clock that the fleet goes by, so that windows begin and end in the same second
// everywhere, also where some machine's clock is wrong: the median of the clocks of the members
// that were heard lately, this one included. Of two clocks in the middle the earlier one counts, so
// that two members agree. Members tell their clocks each other every kTellEvery and when they first
// meet. Clocks that differ by less than kSame are taken for equal: so long a message may take.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns what it has heard. Invariant:
// at most kMostClocks others are remembered, those that were heard last.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::sync {

class FleetClock {
  public:
    static constexpr Duration kTellEvery = std::chrono::seconds(10);
    static constexpr Duration kBelieveFor = std::chrono::seconds(35);
    static constexpr Duration kSame = std::chrono::milliseconds(100);
    static constexpr std::size_t kMostClocks = 256;

    /// Sets this machine's wall clock: how much later the time since 1970 is than the monotonic
    /// time. Until then there is no clock here, and nothing is told.
    void set_own(Duration ahead) { own_ = ahead; }
    [[nodiscard]] bool has_own() const { return own_.has_value(); }
    /// What to tell others: the time since 1970 by this machine.
    void encode(ByteWriter& writer, Instant now) const;
    /// Another member has told its clock. False if that cannot be one.
    [[nodiscard]] bool receive(const gossip::MemberId& member, ByteReader& reader, Instant now);
    void forget(const gossip::MemberId& member) { others_.erase(member); }
    /// Whether another member's clock was heard lately.
    [[nodiscard]] bool hears_others() const { return !others_.empty(); }
    /// How much later the fleet's wall clock is than the monotonic time here. Looks at all clocks
    /// once a second, when its own has been set, and when the first other one was heard.
    [[nodiscard]] Duration ahead(Instant now);
    /// How far this machine's clock is before (above 0) or behind the fleet's, as of the last
    /// ahead().
    [[nodiscard]] Duration difference() const { return own_.value_or(common_) - common_; }

  private:
    struct Other {
        Duration ahead{};
        Instant heard{};
    };
    [[nodiscard]] Duration find_median(Instant now);

    std::optional<Duration> own_;
    std::map<gossip::MemberId, Other> others_;
    Duration common_{};
    std::optional<Duration> median_;  // of all clocks, as of the last look at them
    Instant looked_{};
    Duration own_then_{};  // when they were looked at
};

}  // namespace weir::sync
