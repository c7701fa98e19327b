#pragma once
// The proxy's counts as plain values: sums over all worker threads at one moment. Every request
// ends with exactly one Ending; other things that happen are counted as Events. Counts only grow.
// Metrics show the names (docs/proxy.md lists them). Functions are thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/instant.h"

namespace weir::proxy {

/// How a request ended: its outcome and the reason.
enum class Ending : std::uint8_t {
    admitted,          ///< forwarded and answered; a quota let it pass
    unlimited,         ///< forwarded and answered; no quota exists for it
    refused_limit,     ///< 429: a limit is reached or nearly reached
    refused_share,     ///< 429: above its share of a quota that sheds fairly
    refused_zero,      ///< 429: a limit of 0
    refused_isolated,  ///< 503: the limit's owners cannot be heard, and the quota is pessimistic
    rejected_syntax,   ///< 400: not valid by RFC 9112
    rejected_framing,  ///< 400, 501: Content-Length or Transfer-Encoding
    rejected_host,     ///< 400: Host
    rejected_path,     ///< 400: a path that can be read in several ways
    rejected_fields,   ///< 400: a field of the route's match that can be read in several ways
    rejected_version,  ///< 505
    rejected_method,   ///< 405: CONNECT or TRACE; 400: not the name of a method
    rejected_target_too_long,  ///< 414
    rejected_head_too_large,   ///< 431
    rejected_expectation,      ///< 417
    rejected_upgrade,          ///< 501: the client asks for a protocol that is not permitted
    rejected_head_timeout,     ///< 408: the head took too long
    rejected_body,             ///< 400: malformed chunks
    rejected_body_timeout,     ///< 408: nothing of the body came for too long
    rejected_question,         ///< 400, 404: a check that cannot be understood (checks only)
    rejected_client,           ///< 403: the client is not one of check.clients (checks only)
    upstream_refused,          ///< 502: connecting failed
    upstream_connect_timeout,  ///< 504
    upstream_exhausted,        ///< 503: as many connections as limits.upstream_connections are open
    upstream_response_timeout,  ///< 504: no response in time
    upstream_invalid_response,  ///< 502: a response that must not be passed on
    upstream_closed,            ///< 502: the upstream closed before it responded
    upstream_truncated,         ///< the response broke off, and so did the client's
    memory_short,               ///< 503: nearly all of limits.memory is used
    client_closed,              ///< the client left before the end
    client_stalled,             ///< the client took no byte for too long
    count
};
inline constexpr std::size_t kEndings = static_cast<std::size_t>(Ending::count);

/// The outcome of an ending: "admitted", "refused", "rejected", "failed" or "aborted".
[[nodiscard]] std::string_view outcome(Ending ending);
/// Whether a check, or a request, may have this ending.
[[nodiscard]] bool ends_checks(Ending ending);
[[nodiscard]] bool ends_requests(Ending ending);
/// The reason of an ending: "quota", "unlimited", "limit", "zero", "syntax" …
[[nodiscard]] std::string_view reason(Ending ending);

enum class Event : std::uint8_t {
    client_accepted,      ///< a connection of a client was accepted
    client_closed,        ///< a connection of a client was closed
    client_reset,         ///< closed with a reset, because the response was incomplete
    client_idle_timeout,  ///< a kept connection on which nothing came for too long
    client_evicted,       ///< an idle connection closed to make room at the bound of connections
    client_evicted_head,  ///< the same of one that had sent part of a head
    client_bytes_in,      ///< bytes that clients sent
    client_bytes_out,     ///< bytes that clients took
    accept_errors,        ///< errors of accept(), such as a connection that ended before
    accept_paused_descriptors,  ///< pauses because no descriptor was left (EMFILE and similar)
    accept_paused_connections,  ///< pauses at the bound of connections
    upstream_opened,            ///< a connection to the upstream was opened
    upstream_closed,            ///< a connection to the upstream was closed
    upstream_reused,            ///< a request took a connection that was idle
    upstream_bytes_in,          ///< bytes that the upstream sent
    upstream_bytes_out,         ///< bytes that the upstream took
    upstream_connect_errors,    ///< one for each address that was tried
    upstream_connect_timeouts,  ///< an address did not answer within timeouts.connect
    cancelled_on_fin,           ///< the client had shut down, and cancel_on_fin names the method
    upstream_waits,          ///< a request began to wait for an upstream that refuses connections
    upstream_waits_served,   ///< it got a connection in time
    upstream_waits_full,     ///< it did not wait, because limits.waiting others did
    upstream_stale,          ///< a pooled connection that turned out to be closed
    upstream_retried,        ///< a request that was sent again on a new connection
    upstream_idle_closed,    ///< a pooled connection closed: idle for too long, or above the bound
    upstream_extra_bytes,    ///< bytes behind the response; they end the connection
    upstream_informational,  ///< 1xx responses
    upstream_errors_write,   ///< sending the request failed
    tunnel_opened,           ///< client and upstream have switched to another protocol
    tunnel_ended,            ///< both have shut down their sending halves
    tunnel_client_failed,    ///< the client's connection failed
    tunnel_upstream_failed,  ///< the upstream's connection failed
    tunnel_idle_timeout,     ///< no byte came either way, or one side took none, for too long
    tunnel_cut_off,          ///< still open when the time for stopping was over
    request_started,         ///< the head of a request was complete
    request_finished,        ///< a request had its ending
    request_bodies_drained,  ///< read and dropped after an early answer
    request_bodies_abandoned,  ///< too long to be read and dropped: the connection was closed
    request_turn_ended,  ///< after limits.pipelined_requests in a row other connections went on
    request_pipelined,   ///< a request that came before the answer to the one before it had ended
    refunds,             ///< a charge given back: the request never reached the upstream
    corrections,         ///< a charge corrected to the true bytes or cost
    charges_held,  ///< an exchange lasted, so its charge may be corrected after its instance rested
    shadow_refused,     ///< a quota in shadow mode would have refused the request
    template_overflow,  ///< checked against a template's overflow instance
    refunds_by_status,  ///< a charge given back: the response's status is free
    judged_in_front,    ///< charged without judging, because one of judging_proxies said so
    judged_ignored,     ///< the same, said by another client and not believed
    weight_invalid,     ///< a trusted client stated a weight that is not valid
    weight_clamped,     ///< a trusted client stated a weight above limiter.max_weight
    cost_invalid,       ///< the upstream stated a cost that is not valid
    buffers_reduced,  ///< a small relay buffer was taken, because memory for large ones is used up
    quota_waits,      ///< a request began to wait for its turn, because a quota refused
    quota_waits_admitted,  ///< it was admitted
    quota_waits_refused,  ///< it was refused after all: the time was over, or another quota refused
    quota_waits_left,     ///< its client left, or the server stopped
    quota_waits_full,     ///< a request that did not wait, because the queue was full
    reloads,              ///< a worker took a new snapshot over
    check_peeked,         ///< a check that charged nothing, because it asked to peek
    check_unknown_quota,  ///< a list of names in a check none of which exists
    check_obtained,       ///< a question to obtain that was granted all or a part (not a peek)
    check_obtained_part,  ///< those of them that were granted a part
    check_only_judged,    ///< an admitted check that a limit of requests in flight does not count
    count
};
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::count);

[[nodiscard]] std::string_view name(Event event);

/// The upper bounds of the histograms' buckets, in seconds. One more bucket has everything above
/// the last bound.
inline constexpr std::array<double, 15> kDurationBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
inline constexpr std::array<double, 15> kDecisionBounds = {
    1e-7, 1.5e-7, 2e-7, 3e-7, 4e-7, 5e-7, 7.5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 1e-4, 1e-3, 1e-2};

struct Histogram {
    /// The count of each bucket alone, not cumulative.
    std::array<std::uint64_t, kDurationBounds.size() + 1> counts{};
    double sum_seconds = 0;
};

/// The time of a decision is measured for one request in this many, because reading the clock twice
/// costs as much as a decision.
inline constexpr std::uint64_t kDecisionSampling = 16;

/// Requests and checks that no quota limits are counted by route: the first routes each by itself,
/// all others together, and those that no route matches.
inline constexpr std::size_t kCountedRoutes = 64;
inline constexpr std::size_t kOtherRoutes = kCountedRoutes;
inline constexpr std::size_t kNoRoute = kCountedRoutes + 1;
inline constexpr std::size_t kRoutePlaces = kCountedRoutes + 2;

struct ProxyStatistics {
    std::array<std::uint64_t, kEndings> requests{};
    /// The endings of checks, which are not counted among the requests.
    std::array<std::uint64_t, kEndings> checks{};
    std::array<std::uint64_t, kEvents> events{};
    /// By the index of the route, or kOtherRoutes or kNoRoute.
    std::array<std::uint64_t, kRoutePlaces> unlimited{};
    std::array<std::uint64_t, kRoutePlaces> partly_unlimited{};
    /// The time from the complete head to the end of the answer, by the status's class: [0] is 1xx,
    /// [4] is 5xx and everything above.
    std::array<Histogram, 5> request_seconds{};
    /// The time from the request's head having been sent to the head of the response.
    Histogram upstream_seconds;
    /// How long requests waited for their turn, however that ended.
    Histogram wait_seconds;
    /// The time that routing and limiter take, of a sample of requests.
    Histogram decision_seconds;

    [[nodiscard]] std::uint64_t operator[](Ending ending) const {
        return requests[static_cast<std::size_t>(ending)];
    }
    [[nodiscard]] std::uint64_t operator[](Event event) const {
        return events[static_cast<std::size_t>(event)];
    }
    /// The numbers of connections that are open now, and of requests that are being served.
    [[nodiscard]] std::uint64_t client_connections() const;
    [[nodiscard]] std::uint64_t upstream_connections() const;
    [[nodiscard]] std::uint64_t inflight_requests() const;
    /// Requests that wait for their turn now; they are among those that are being served.
    [[nodiscard]] std::uint64_t waiting() const;
    /// Tunnels that are open now; they are among the requests that are being served.
    [[nodiscard]] std::uint64_t tunnels() const;
};

}  // namespace weir::proxy
