#pragma once
// The messages by which a fleet shares a limit of requests in flight: an origin reports what it has
// and wants, and the first owner of the limit grants it an allowance. docs/protocol.md describes
// each byte.
//
// Pure functions and plain values, thread-safe. Decoding trusts nothing: a malformed entry makes
// the reader fail. Whether well-formed values are plausible is asked separately.

#include <cstdint>

#include "base/bytes.h"
#include "sync/messages.h"

namespace weir::sync {

/// What an origin says of a limit. All counts are whole requests.
struct AllowanceReport {
    LimitKey key;
    /// Counts the origin's reports of this limit, with 1 after 65,535, because 0 stands for none.
    /// An origin takes no grant that answers an earlier report than its last one.
    std::uint16_t number = 0;
    /// An owner has told the origin its allowance; else it has an equal part.
    bool told = false;
    std::uint64_t most = 0;       // in flight in the whole fleet, by the origin's definitions
    std::uint64_t allowance = 0;  // how many the origin admits
    std::uint64_t in_flight = 0;
    std::uint64_t wanted = 0;  // how many it would like to admit; 0: it is at rest
    friend bool operator==(const AllowanceReport&, const AllowanceReport&) = default;
};

/// The owner's answer, or what it says unasked.
struct AllowanceGrant {
    LimitKey key;
    /// That of the newest report that the owner has; 0 if it has none.
    std::uint16_t number = 0;
    /// False: the origin has an equal part again, and need not report any more.
    bool told = false;
    /// The origins want more than there is.
    bool scarce = false;
    std::uint64_t allowance = 0;
    std::uint32_t origins = 0;  // that report the limit
    friend bool operator==(const AllowanceGrant&, const AllowanceGrant&) = default;
};

/// Whether these messages can be about the limit.
[[nodiscard]] bool is_in_flight(const LimitKey& key);

void encode(ByteWriter& writer, const AllowanceReport& report);
void encode(ByteWriter& writer, const AllowanceGrant& grant);
/// An entry about a limit of another kind is consumed whole, but only its key is decoded.
[[nodiscard]] AllowanceReport decode_allowance_report(ByteReader& reader);
[[nodiscard]] AllowanceGrant decode_allowance_grant(ByteReader& reader);
[[nodiscard]] bool plausible(const AllowanceReport& report);
[[nodiscard]] bool plausible(const AllowanceGrant& grant);

}  // namespace weir::sync
