#pragma once
// The identity of senders and receivers: a member is an address together with the incarnation of
// the process there. Two processes that ever used one address are two members. Plain values.

#include <compare>
#include <cstdint>

#include "base/endpoint.h"

namespace weir::gossip {

/// A random number that identifies one start of a process, or one renewal of it (see
/// membership/renewal.h). 0 means that the incarnation is not known.
using Incarnation = std::uint64_t;

struct MemberId {
    Endpoint address;
    Incarnation incarnation = 0;
    friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

}  // namespace weir::gossip
