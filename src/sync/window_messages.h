#pragma once
// The messages by which a fleet shares a limit of windows: an origin reports to all owners of the
// limit what it has admitted in the present window, the first owner grants it an allowance, and
// owners tell each other what members that are gone had admitted. docs/protocol.md describes each
// byte.
//
// Pure functions and plain values, thread-safe. Decoding trusts nothing: a malformed entry makes
// the reader fail. Whether well-formed values are plausible is asked separately.

#include <cstdint>

#include "base/bytes.h"
#include "sync/messages.h"

namespace weir::sync {

/// What one run of a member has admitted in a window. All weights are whole, rounded up.
struct WindowReport {
    LimitKey key;
    std::uint64_t run = 0;  // a random number of the process that admitted it; not 0
    std::uint32_t end = 0;  // the second since 1970 in which the window ends, by which it is known
    std::uint64_t number = 0;  // each next one of a run, of any limit, is larger; 0 is not used
    /// An owner has told the origin its allowance; else it has an equal part.
    bool told = false;
    /// It is not the sender's own run: the member is gone, and an owner says what it had admitted.
    bool gone = false;
    std::uint64_t most = 0;       // what the fleet may admit in each window
    std::uint64_t allowance = 0;  // how much the origin may admit in this one
    std::uint64_t admitted = 0;
    std::uint64_t wanted = 0;  // how much it would like to be allowed
    friend bool operator==(const WindowReport&, const WindowReport&) = default;
};

/// An owner's answer to a report, or what the first owner says unasked.
struct WindowGrant {
    LimitKey key;
    std::uint64_t run = 0;     // of the report; 0: it answers none
    std::uint32_t end = 0;     // of the owner's window, also if the report named another one
    std::uint64_t number = 0;  // of the report; 0: it answers none
    /// It is the first owner's, and `allowance` holds. Else the report has only been noted.
    bool granted = false;
    /// All of the window has been admitted, or is allowed to those who want it.
    bool scarce = false;
    std::uint64_t allowance = 0;
    friend bool operator==(const WindowGrant&, const WindowGrant&) = default;
};

/// Whether these messages can be about the limit.
[[nodiscard]] bool is_of_windows(const LimitKey& key);

void encode(ByteWriter& writer, const WindowReport& report);
void encode(ByteWriter& writer, const WindowGrant& grant);
/// Of an entry about a limit of another kind nothing but the key is read.
[[nodiscard]] WindowReport decode_window_report(ByteReader& reader);
[[nodiscard]] WindowGrant decode_window_grant(ByteReader& reader);
[[nodiscard]] bool plausible(const WindowReport& report);
[[nodiscard]] bool plausible(const WindowGrant& grant);

}  // namespace weir::sync
