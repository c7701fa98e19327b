#pragma once
// A member of the cluster that holds the key and lies. It takes part in membership with weir's own
// code and sends false counters and definitions. The simulator uses it and, with a socket
// (weir-liar), tests of real fleets. Not thread-safe; borrows the source of nonces.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "membership/transport.h"
#include "sync/messages.h"

namespace weir::tools {

enum class Lie : std::uint8_t {
    counts_beyond,     // delta: every count 2^64-1 steps
    falling_counts,    // delta: fewer admitted than before, more offered
    not_a_number,      // delta: rate NaN
    infinite_rate,     // delta: rate 1e300, which is infinite on the wire
    leaping_counts,    // delta: 2^54 admitted at once, and again and again
    huge_rate,         // delta: offered 10^12 a second, next heard of in 40 days
    huge_total,        // total, as an owner: level and rate 10^12, keep-alive 40 days, pace 255
    busy_total,        // total, as an owner: a possible level, a rate of 10^12, keep-alive 40 days
    huge_handover,     // hand-over of level, rate and held rate 10^12 for 40 days
    huge_hint,         // a rumour of level and rate 10^12
    wrong_parameters,  // name_tell: parameters of a limit of nearly nothing
    future_clock,      // its clock leaps by a year
    future_epoch,      // a definition of epoch 2^64-1 that removes the quota
    invented_limits,   // deltas: one request each for limits that no definition has
    named_limits,      // the same, with parameters that admit one request in twelve days
};
inline constexpr std::array kLies = {Lie::counts_beyond, Lie::falling_counts,   Lie::not_a_number,
                                     Lie::infinite_rate, Lie::leaping_counts,   Lie::huge_rate,
                                     Lie::huge_total,    Lie::busy_total,       Lie::huge_handover,
                                     Lie::huge_hint,     Lie::wrong_parameters, Lie::future_clock,
                                     Lie::future_epoch,  Lie::invented_limits,  Lie::named_limits};

[[nodiscard]] std::string_view to_string(Lie lie);

class LyingPeer {
  public:
    LyingPeer(const std::string& cluster, const Endpoint& self, const gossip::Key& key,
              gossip::NonceSource& nonces, std::uint64_t seed);

    void start(std::vector<Endpoint> seeds, Instant now);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    void tick(Instant now);
    [[nodiscard]] std::vector<membership::OutgoingDatagram> take_outgoing(Instant now);

    /// Sends the lie to every live member, about the quota's limit of requests per second.
    void tell(Lie lie, std::string_view quota);
    [[nodiscard]] std::size_t peers() const { return transport_.membership().live_count(); }
    [[nodiscard]] bool owns(std::string_view quota) const;
    [[nodiscard]] const Endpoint& address() const { return transport_.self().address; }

  private:
    void send_to_all(gossip::MessageType type, ByteSpan payload);
    void tell_delta(Lie lie, const sync::LimitKey& key);
    void tell_limits(bool named);
    [[nodiscard]] Instant local(Instant now) const { return now + leap_; }

    membership::Transport transport_;
    std::uint64_t lies_ = 0;
    Duration leap_{};
};

}  // namespace weir::tools
