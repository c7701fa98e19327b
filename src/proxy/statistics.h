#pragma once
// What the proxy has counted, as a plain value: the sum over the worker threads at one moment.
// Every request ends in exactly one Ending; every other branch worth knowing has an Event.
// Counters only grow. Names are what metrics show (docs/proxy.md lists them).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/instant.h"

namespace weir::proxy {

/// How a request ended: outcome and reason in one.
enum class Ending : std::uint8_t {
    admitted,                   ///< forwarded and answered; a quota let it pass
    unlimited,                  ///< forwarded and answered; no quota exists for it
    refused_limit,              ///< 429: a limit sheds
    refused_zero,               ///< 429: a limit of 0
    refused_isolated,           ///< 503: the limit's owners cannot be heard, and it is pessimistic
    rejected_syntax,            ///< 400: not HTTP as RFC 9112 has it
    rejected_framing,           ///< 400, 501: Content-Length, Transfer-Encoding
    rejected_host,              ///< 400: Host
    rejected_path,              ///< 400: a path with two readings
    rejected_version,           ///< 505
    rejected_method,            ///< 405: CONNECT, TRACE; 400: not a method's name
    rejected_target_too_long,   ///< 414
    rejected_head_too_large,    ///< 431
    rejected_expectation,       ///< 417
    rejected_upgrade,           ///< 501: switching protocols is not in this version
    rejected_head_timeout,      ///< 408: the head took too long
    rejected_body,              ///< 400: malformed chunks
    rejected_body_timeout,      ///< 408: the body stood still
    rejected_question,          ///< 400, 404: a check that does not say what it asks (checks only)
    rejected_client,            ///< 403: not one of check.clients (checks only)
    upstream_refused,           ///< 502: connecting failed
    upstream_connect_timeout,   ///< 504
    upstream_exhausted,         ///< 503: limits.upstream_connections are open
    upstream_response_timeout,  ///< 504: no answer in time
    upstream_invalid_response,  ///< 502: an answer that may not be passed on
    upstream_closed,            ///< 502: closed before an answer
    upstream_truncated,         ///< the answer broke off, and so did ours
    memory_short,               ///< 503: limits.memory is nearly used up
    client_closed,              ///< the client left before the end
    client_stalled,             ///< the client took no byte for too long
    count
};
inline constexpr std::size_t kEndings = static_cast<std::size_t>(Ending::count);

/// "admitted", "refused", "rejected", "failed" or "aborted".
[[nodiscard]] std::string_view outcome(Ending ending);
/// Whether a check, or a request, may end so.
[[nodiscard]] bool ends_checks(Ending ending);
[[nodiscard]] bool ends_requests(Ending ending);
/// "quota", "unlimited", "limit", "zero", "syntax", …
[[nodiscard]] std::string_view reason(Ending ending);

enum class Event : std::uint8_t {
    client_accepted,
    client_closed,
    client_reset,         ///< closed with a reset, since what it got is incomplete
    client_idle_timeout,  ///< kept alive, but nothing came
    client_evicted,       ///< idle, closed to make room at the bound of connections
    client_bytes_in,
    client_bytes_out,
    accept_errors,              ///< aborted before we took it, and the like
    accept_paused_descriptors,  ///< EMFILE and its kin
    accept_paused_connections,  ///< the limit of connections
    upstream_opened,
    upstream_closed,
    upstream_reused,
    upstream_bytes_in,
    upstream_bytes_out,
    upstream_connect_errors,  ///< each address tried counts
    upstream_connect_timeouts,
    upstream_stale,          ///< a pooled connection that turned out to be closed
    upstream_retried,        ///< the one silent retry
    upstream_idle_closed,    ///< pooled: idle for too long, or more than the bound
    upstream_extra_bytes,    ///< more than its response: discarded with the connection
    upstream_informational,  ///< 1xx responses
    upstream_errors_write,   ///< sending the request failed
    request_started,
    request_finished,
    request_bodies_drained,    ///< read away after an early answer
    request_bodies_abandoned,  ///< too long for that: connection closed
    request_turn_ended,        ///< limits.pipelined_requests in a row: others had their turn
    request_pipelined,         ///< was there before the answer to the one in front had ended
    refunds,                   ///< charged, but never sent to the upstream
    corrections,               ///< charge corrected by the bytes that really came
    shadow_refused,            ///< would have been refused, had the quota been enforced
    template_overflow,         ///< checked against a template's overflow instance
    refunds_by_status,         ///< charged, but the response's status is free
    judged_in_front,           ///< charged without judging, as one of judging_proxies said
    judged_ignored,            ///< the same said by somebody else
    weight_invalid,            ///< a trusted client's stated weight that is none
    weight_clamped,            ///< one above limiter.max_weight
    cost_invalid,              ///< an upstream's stated cost that is none
    buffers_reduced,           ///< a small relay buffer, since the large ones have their share
    reloads,                   ///< snapshots taken over, per worker
    check_peeked,              ///< checks that charged nothing, as they were asked to
    count
};
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::count);

[[nodiscard]] std::string_view name(Event event);

/// Upper bounds in seconds; one more bucket lies above the last.
inline constexpr std::array<double, 15> kDurationBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
inline constexpr std::array<double, 15> kDecisionBounds = {
    1e-7, 1.5e-7, 2e-7, 3e-7, 4e-7, 5e-7, 7.5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 1e-4, 1e-3, 1e-2};

struct Histogram {
    /// Per bucket, not cumulative.
    std::array<std::uint64_t, kDurationBounds.size() + 1> counts{};
    double sum_seconds = 0;

    [[nodiscard]] std::uint64_t total() const;
};

/// Decisions are timed once in this many requests: two clock readings cost as much as a decision.
inline constexpr std::uint64_t kDecisionSampling = 16;

struct Statistics {
    std::array<std::uint64_t, kEndings> requests{};
    /// The same of checks: questions of other proxies, which are no requests of their own.
    std::array<std::uint64_t, kEndings> checks{};
    std::array<std::uint64_t, kEvents> events{};
    /// Head complete to end of the answer, by status class: [0] is 1xx … [4] is 5xx.
    std::array<Histogram, 5> request_seconds{};
    /// Request sent to head of the response.
    Histogram upstream_seconds;
    /// Routing and limiter, sampled.
    Histogram decision_seconds;

    [[nodiscard]] std::uint64_t operator[](Ending ending) const {
        return requests[static_cast<std::size_t>(ending)];
    }
    [[nodiscard]] std::uint64_t operator[](Event event) const {
        return events[static_cast<std::size_t>(event)];
    }
    /// Open now.
    [[nodiscard]] std::uint64_t client_connections() const;
    [[nodiscard]] std::uint64_t upstream_connections() const;
    [[nodiscard]] std::uint64_t inflight_requests() const;
};

}  // namespace weir::proxy
