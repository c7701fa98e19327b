#pragma once
// The definition of a quota, as plain values without state or a text format. A set of definitions
// is validated as a whole (definitions/rules.h) and then given to the Limiter. They may be copied
// freely and are as thread-safe as any value. A limit is identified by quota name, kind, unit and
// period: when its amount or its bursts are edited, it keeps its level.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "limiter/laws.h"
#include "limiter/quota_options.h"

namespace weir::limiter {

/// What a limit counts. Response bytes are only known after the decision: the running mean is
/// charged first and corrected later (Limiter::correct).
enum class Unit : std::uint8_t { requests, request_bytes, response_bytes, cost };
inline constexpr std::size_t kUnits = 4;

/// What a limit bounds. rate: how much weight is admitted in a time, by a bucket that drains;
/// window: how much is admitted in each of the windows that follow one another (window.h);
/// concurrency: how many requests are in flight at once, from their admission to their end. The
/// numbers are those of the wire, where 7 is the largest; 3 is kept for leases.
enum class LimitKind : std::uint8_t { rate = 0, window = 1, concurrency = 2 };

/// Where the windows of a limit begin. name: at whole multiples of the period since 1970, moved by
/// a time that the quota's name decides, so that the windows of many quotas do not all end at once;
/// calendar: at whole minutes, hours, days, weeks or months of a time zone; first: with the first
/// request that comes while there is no window.
enum class WindowStart : std::uint8_t { name, calendar, first };

/// What a quota does with requests over its limits. enforce: it refuses them; shadow: it decides
/// and charges as if it were enforced, but refuses nothing; off: it is skipped.
enum class Mode : std::uint8_t { enforce, shadow, off };

/// fleet: all sidecars share one level; sidecar: each sidecar has a level of its own, which
/// protects its own application.
enum class Scope : std::uint8_t { fleet, sidecar };

/// What a limit does while its owners cannot be heard, for the hold time. safe: the part of the
/// limit that the other sidecars use stays reserved for them or, if RateLimit::safe is given, that
/// rate holds instead; optimistic: only requests that this sidecar knows of count; pessimistic:
/// everything is refused.
enum class IsolationMode : std::uint8_t { safe, optimistic, pessimistic };

/// The words for these values, in the order of the enumerators. Documents, the admin API and the
/// command line use the same words; only a unit is spelled with a hyphen there.
inline constexpr std::array<std::string_view, kUnits> kUnitWords = {"requests", "request_bytes",
                                                                    "response_bytes", "cost"};
inline constexpr std::array<std::string_view, 2> kLawWords = {"linear", "adaptive"};
inline constexpr std::array<std::string_view, 3> kModeWords = {"enforce", "shadow", "off"};
inline constexpr std::array<std::string_view, 2> kScopeWords = {"fleet", "sidecar"};
inline constexpr std::array<std::string_view, 3> kWindowStartWords = {"name", "calendar", "first"};
inline constexpr std::array<std::string_view, 3> kIsolationModeWords = {"safe", "optimistic",
                                                                        "pessimistic"};

[[nodiscard]] std::string_view to_string(Unit unit);
[[nodiscard]] std::string_view to_string(Mode mode);

/// The shortest and the longest window, and the period that stands for a month of the calendar: its
/// mean length. Of the calendar a day can last an hour longer, and a month an hour more than 31
/// days (WindowSchedule::longest()).
inline constexpr Duration kShortestWindow = std::chrono::minutes(1);
inline constexpr Duration kLongestWindow = std::chrono::days(31);
inline constexpr Duration kMonth = std::chrono::months(1);
/// The largest amount of a window: it counts in whole units up to here without rounding.
inline constexpr double kMostInWindow = 1e15;

/// A border of a bucket (low, high or debt) as it was written: an amount of weight, or a number of
/// seconds of the rate.
struct BurstSpec {
    enum class Kind : std::uint8_t { amount, seconds };
    Kind kind = Kind::amount;
    double value = 0;
    friend bool operator==(const BurstSpec&, const BurstSpec&) = default;
    /// The border as an amount of weight; `rate` is in weight per second.
    [[nodiscard]] double resolve(double rate) const {
        return kind == Kind::amount ? value : value * rate;
    }
};

/// What holds while members that own a limit, or share it, cannot be heard, and for how long.
struct Isolation {
    IsolationMode mode = IsolationMode::safe;
    std::optional<Duration> hold{};  // nothing = as the sidecar's settings say
    friend bool operator==(const Isolation&, const Isolation&) = default;
};

/// A leaky bucket: `amount` of `unit` per `period`. Borders that are not given take these defaults:
/// low = amount if the period is longer than a second, else one second of the rate; high = low +
/// one second of the rate where the unit is not requests or the rate is at least 20/s, else high =
/// low, a hard edge; for debt see limiter::debt(). With amount 0 everything is refused.
///
/// A limit of another kind has a form of its own, without borders. LimitKind::concurrency: at most
/// `amount` requests in flight; the unit is requests and the period is 0 (see in_flight()).
/// LimitKind::window: at most `amount` of `unit` in each window, whose length is `period`, or a
/// month of the calendar if that is kMonth (see in_window()).
struct RateLimit {
    LimitKind kind = LimitKind::rate;
    Unit unit = Unit::requests;
    double amount = 0;
    Duration period = std::chrono::seconds(1);
    std::optional<BurstSpec> low{};
    std::optional<BurstSpec> high{};
    std::optional<BurstSpec> debt{};
    Law law = Law::adaptive;
    Scope scope = Scope::fleet;
    /// Weight per second that each sidecar may admit by itself while the limit is isolated (the
    /// safe capacity of Google's Doorman); only with IsolationMode::safe.
    std::optional<double> safe{};
    /// Of a window only: where it begins, and with WindowStart::calendar in which time zone (a name
    /// such as "Europe/Berlin"; empty = UTC).
    WindowStart from = WindowStart::name;
    std::string timezone{};

    /// A limit of so many requests in flight.
    [[nodiscard]] static RateLimit in_flight(double most) {
        RateLimit limit;
        limit.kind = LimitKind::concurrency;
        limit.amount = most;
        limit.period = Duration::zero();
        return limit;
    }
    /// A limit of so much weight in each window. A month begins with the calendar, as nothing else
    /// says where it does.
    [[nodiscard]] static RateLimit in_window(double most, Duration period) {
        RateLimit limit;
        limit.kind = LimitKind::window;
        limit.amount = most;
        limit.period = period;
        limit.from = period == kMonth ? WindowStart::calendar : WindowStart::name;
        return limit;
    }
    [[nodiscard]] bool is_rate() const { return kind == LimitKind::rate; }
    [[nodiscard]] bool is_window() const { return kind == LimitKind::window; }
    [[nodiscard]] bool is_concurrency() const { return kind == LimitKind::concurrency; }
    /// The drain rate of the bucket, in weight per second; 0 if the limit is none.
    [[nodiscard]] double rate() const { return is_rate() ? amount / to_seconds(period) : 0; }
    /// Rate and borders as weight, with the defaults filled in.
    [[nodiscard]] LimitParameters resolved() const;
    friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

/// One quota of the tree. The name may hold captures, at most one in each segment:
/// "s3/{bucket}/write", "user-{id}". A capture matches a non-empty text without '/'. `parent` may
/// use the captures of the name. When several definitions match a name, an exact name wins over
/// templates, and a more literal template over a less literal one.
struct QuotaDefinition {
    std::string name{};
    std::optional<std::string> parent{};
    std::vector<RateLimit> limits{};
    Mode mode = Mode::enforce;
    /// The largest number of live instances of this template; 0 = the limiter's default.
    std::uint32_t max_instances = 0;
    /// The largest number of live children of one instance of this quota; 0 = the limiter's
    /// default.
    std::uint32_t max_children = 0;
    /// Answers do not name this quota.
    bool hide_headers = false;
    IsolationMode when_isolated = IsolationMode::safe;
    /// With Mode::enforce: the share of keys, 0 to 1, for which the quota refuses; for the others
    /// it only shadows. A key is the leaf's name, or the value of the request field
    /// `options->enforced_by`.
    double enforced_share = 1;
    SharedOptions options{};
    [[nodiscard]] Isolation isolation() const { return {when_isolated, options->hold}; }
    friend bool operator==(const QuotaDefinition&, const QuotaDefinition&) = default;
};

/// Whether the name holds a capture.
[[nodiscard]] bool is_template(std::string_view name);

/// Bounds of a definition set. The module definitions checks each of them (definitions/rules.h).
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::size_t kMaxLimitsPerQuota = 8;
inline constexpr std::size_t kMaxChainDepth = 16;
inline constexpr std::size_t kMaxChainLimits = 32;      // limits of a leaf and all its ancestors
inline constexpr std::size_t kMaxChainConcurrency = 4;  // of these, limits of requests in flight
inline constexpr double kMostInFlight = 10'000'000;
inline constexpr std::size_t kMaxRefusalBody = 1024;
inline constexpr std::size_t kMaxContentType = 127;
inline constexpr std::size_t kMaxFieldName = 127;
inline constexpr Duration kShortestWait = std::chrono::milliseconds(1);
inline constexpr Duration kLongestWait = std::chrono::minutes(1);
inline constexpr std::uint32_t kMaxWaiting = 50'000;  // requests that wait for one instance
inline constexpr Duration kLongestHold = std::chrono::hours(1);
inline constexpr double kLeastShare = 0.01;
inline constexpr double kMostShare = 10'000;
inline constexpr std::size_t kMaxDefinitions = 4'000'000;

/// One change of a set that is in force.
struct DefinitionChange {
    std::string name;
    std::optional<QuotaDefinition> definition;  // nothing: the quota is taken away
};

/// Why the limiter leaves out a change that it is asked to make.
enum class ChangeObjection : std::uint8_t {
    too_many,     // kMaxDefinitions are in force already, and this would be one more
    own_ancestor  // the definition's parents lead back to it, or go on without an end
};

/// A change that was left out.
struct RefusedChange {
    std::size_t index = 0;  // among the changes that were given
    std::string name;
    ChangeObjection why = ChangeObjection::too_many;
};

}  // namespace weir::limiter
