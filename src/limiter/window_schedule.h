#pragma once
// When the windows of a limit (LimitKind::window) begin and end. Windows of one limit follow one
// another without gaps. All times are whole seconds since 1970 in UTC, so that every member names
// the same instant.
//
// Windows of the calendar follow the clocks of their time zone. Where these are changed:
// - a window of up to an hour ends, so that each is a part of one real hour: in the night in which
//   an hour is repeated both are windows of their own;
// - a longer one goes on, and lasts longer by what is repeated in it or shorter by what is skipped:
//   a day of 23 or 25 hours is one window. It ends where the clock shows its end for the first
//   time, also if the clock is set back behind that. A day that a zone skipped has no window.
//
// Thread-safety: immutable; any thread may ask at() at any time. It takes no lock and allocates
// nothing. make() and knows_time_zone() are for threads that may wait, because they lock and may
// read a time zone from disk.
// Ownership: shared by all limits that were compiled from one RateLimit.
// Invariant: a window that at() returns contains the instant that was asked for, and is not longer
// than longest(). Windows are never empty.

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
    /// (see knows_time_zone()), and a period that is no unit of the calendar is as with
    /// WindowStart::name; definitions/rules.h refuses both.
    [[nodiscard]] static std::shared_ptr<const WindowSchedule> make(const RateLimit& limit);

    WindowSchedule() = default;
    virtual ~WindowSchedule() = default;
    WindowSchedule(const WindowSchedule&) = delete;
    WindowSchedule& operator=(const WindowSchedule&) = delete;

    /// The window that contains the instant. `name` is a hash of the quota's name, the same one in
    /// every process; only WindowStart::name uses it. With WindowStart::first a new window begins
    /// with the instant. It takes up to four look-ups in the tables of a time zone, so callers keep
    /// the window until its end.
    [[nodiscard]] virtual WindowSpan at(std::int64_t second, std::uint64_t name) const = 0;
    /// No window that ends after 1970 began lasts longer than this many seconds. That is more than
    /// kLongestWindow for a month in a zone that changes its clocks.
    [[nodiscard]] virtual std::int64_t longest() const = 0;
};

/// Whether this machine's time zone database has the zone: in the folder that TZDIR names when it
/// is asked for, or in /usr/share/zoneinfo. False for every text that is not the name of a zone,
/// such as a path, and for "localtime", which is another zone on each machine. The empty text and
/// "UTC" are UTC and need no database. A zone is read from disk once, and stays known.
[[nodiscard]] bool knows_time_zone(std::string_view name);

}  // namespace weir::limiter
