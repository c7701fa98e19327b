#pragma once
// The identity of senders and receivers: a member is an address together with the incarnation of
// the process there. Two processes that used one address one after the other are two members. Plain
// values.

#include <compare>
#include <cstdint>

#include "base/endpoint.h"

namespace weir::gossip {

/// A random number that a process draws when it starts, and again when it renews itself because the
/// fleet has given it up (membership/renewal.h). 0 means that the incarnation is not known.
using Incarnation = std::uint64_t;

struct MemberId {
    Endpoint address;
    Incarnation incarnation = 0;
    friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

}  // namespace weir::gossip
