#pragma once
// The messages of fair shedding: what an origin was offered for the children of a parent that
// sheds, and the owner's answer, what the fleet was offered for them. Both have the same form. A
// long list goes into several messages, the parts of one telling. docs/protocol.md describes each
// byte.
//
// Pure functions and plain values, thread-safe. Decoding trusts nothing: a malformed message makes
// the reader fail. Whether well-formed values are plausible is asked separately.

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "limiter/water_line.h"
#include "sync/messages.h"

namespace weir::sync {

/// One part of a telling.
struct ChildPart {
    LimitKey parent;
    std::uint16_t number = 0;  // of the telling; each next one of a sender is larger by 1
    std::uint8_t part = 0;
    std::uint8_t parts = 1;
    double line = 0;            // the water line, weight per second and share; 0 = not known
    std::uint32_t origins = 0;  // that tell of the parent
    /// `children` are those of this part; everything else is about the whole telling.
    limiter::ChildRates rates;
    friend bool operator==(const ChildPart&, const ChildPart&) = default;
};

/// As many children as one message holds.
inline constexpr std::size_t kChildrenPerPart = 64;
inline constexpr std::size_t kMostParts =
    (limiter::kKnownChildren + kChildrenPerPart - 1) / kChildrenPerPart;

/// Divides a telling into parts. `whole.part`, `whole.parts` do not matter.
[[nodiscard]] std::vector<ChildPart> parts_of(const ChildPart& whole);

void encode(ByteWriter& writer, const ChildPart& part);
[[nodiscard]] ChildPart decode_child_part(ByteReader& reader);
[[nodiscard]] bool plausible(const ChildPart& part);

}  // namespace weir::sync
