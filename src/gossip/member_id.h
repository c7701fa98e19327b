#pragma once
// Who sends and who receives: a member is an address together with the incarnation of the process
// there. Two processes that ever used one address are two members. Plain values.

#include <compare>
#include <cstdint>

#include "base/endpoint.h"

namespace weir::gossip {

/// The random number that one process start (or one renewal, see membership/membership.h) is known
/// by. 0 means: not known.
using Incarnation = std::uint64_t;

struct MemberId {
    Endpoint address;
    Incarnation incarnation = 0;
    friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

}  // namespace weir::gossip
