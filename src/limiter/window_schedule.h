#pragma once
// When the windows of a limit (LimitKind::window) begin and end. Windows of one limit follow one
// another without gaps. All times are whole seconds since 1970 in UTC, so that every member names
// the same instant.
//
// Thread-safety: immutable; any thread may ask at() at any time. It takes no lock and allocates
// nothing. make() is for threads that may wait, because it may read a time zone from disk.
// Ownership: shared by all limits that were compiled from one RateLimit.
// Invariant: a window that at() returns contains the instant that was asked for, and is not longer
// than longest().

#include <cstdint>
#include <memory>
#include <string_view>

#include "limiter/definition.h"

namespace weir::limiter {

/// One window: from `begin` up to `end`, which is the first second of the next one.
struct WindowSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    friend bool operator==(const WindowSpan&, const WindowSpan&) = default;
};

class WindowSchedule {
  public:
    /// The schedule of a window limit. A time zone that this machine does not know counts as UTC
    /// (see knows_time_zone()).
    [[nodiscard]] static std::shared_ptr<const WindowSchedule> make(const RateLimit& limit);

    WindowSchedule() = default;
    virtual ~WindowSchedule() = default;
    WindowSchedule(const WindowSchedule&) = delete;
    WindowSchedule& operator=(const WindowSchedule&) = delete;

    /// The window that contains the instant. `name` is a hash of the quota's name, the same one in
    /// every process; only WindowStart::name uses it. With WindowStart::first a new window begins
    /// with the instant.
    [[nodiscard]] virtual WindowSpan at(std::int64_t second, std::uint64_t name) const = 0;
    /// No window lasts longer than this many seconds.
    [[nodiscard]] virtual std::int64_t longest() const = 0;
};

/// Whether this machine's time zone database has the zone. False for every text that is not the
/// name of a zone, such as a path; the empty text is UTC. Reads from disk at most once for a name
/// that the database has.
[[nodiscard]] bool knows_time_zone(std::string_view name);

}  // namespace weir::limiter
