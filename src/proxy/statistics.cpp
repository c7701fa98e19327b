#include "proxy/statistics.h"

namespace weir::proxy {
namespace {

struct EndingName {
    std::string_view outcome;
    std::string_view reason;
};

/// In the order of Ending.
constexpr std::array<EndingName, kEndings> kEndingNames = {{
    {"admitted", "quota"},
    {"admitted", "unlimited"},
    {"refused", "limit"},
    {"refused", "share"},
    {"refused", "zero"},
    {"refused", "isolated"},
    {"rejected", "syntax"},
    {"rejected", "framing"},
    {"rejected", "host"},
    {"rejected", "path"},
    {"rejected", "fields"},
    {"rejected", "version"},
    {"rejected", "method"},
    {"rejected", "target_too_long"},
    {"rejected", "head_too_large"},
    {"rejected", "expectation"},
    {"rejected", "upgrade"},
    {"rejected", "head_timeout"},
    {"rejected", "body"},
    {"rejected", "body_timeout"},
    {"rejected", "question"},
    {"rejected", "client"},
    {"failed", "upstream_refused"},
    {"failed", "upstream_connect_timeout"},
    {"failed", "upstream_exhausted"},
    {"failed", "upstream_response_timeout"},
    {"failed", "upstream_invalid_response"},
    {"failed", "upstream_closed"},
    {"failed", "upstream_truncated"},
    {"failed", "memory"},
    {"aborted", "client_closed"},
    {"aborted", "client_stalled"},
}};
static_assert(!kEndingNames.back().reason.empty());

/// In the order of Event.
constexpr std::array<std::string_view, kEvents> kEventNames = {
    "client_accepted",
    "client_closed",
    "client_reset",
    "client_idle_timeout",
    "client_evicted",
    "client_evicted_head",
    "client_bytes_in",
    "client_bytes_out",
    "accept_errors",
    "accept_paused_descriptors",
    "accept_paused_connections",
    "upstream_opened",
    "upstream_closed",
    "upstream_reused",
    "upstream_bytes_in",
    "upstream_bytes_out",
    "upstream_connect_errors",
    "upstream_connect_timeouts",
    "cancelled_on_fin",
    "upstream_waits",
    "upstream_waits_served",
    "upstream_waits_full",
    "upstream_stale",
    "upstream_retried",
    "upstream_idle_closed",
    "upstream_extra_bytes",
    "upstream_informational",
    "upstream_errors_write",
    "tunnel_opened",
    "tunnel_ended",
    "tunnel_client_failed",
    "tunnel_upstream_failed",
    "tunnel_idle_timeout",
    "tunnel_cut_off",
    "request_started",
    "request_finished",
    "request_bodies_drained",
    "request_bodies_abandoned",
    "request_turn_ended",
    "request_pipelined",
    "refunds",
    "corrections",
    "charges_held",
    "shadow_refused",
    "template_overflow",
    "refunds_by_status",
    "judged_in_front",
    "judged_ignored",
    "weight_invalid",
    "weight_clamped",
    "cost_invalid",
    "buffers_reduced",
    "quota_waits",
    "quota_waits_admitted",
    "quota_waits_refused",
    "quota_waits_left",
    "quota_waits_full",
    "reloads",
    "check_peeked",
    "check_unknown_quota",
    "check_obtained",
    "check_obtained_part",
    "check_only_judged",
};
static_assert(!kEventNames.back().empty());

}  // namespace

std::string_view outcome(Ending ending) {
    return kEndingNames[static_cast<std::size_t>(ending)].outcome;
}

std::string_view reason(Ending ending) {
    return kEndingNames[static_cast<std::size_t>(ending)].reason;
}

bool ends_checks(Ending ending) { return ending < Ending::upstream_refused; }

bool ends_requests(Ending ending) {
    return ending != Ending::rejected_question && ending != Ending::rejected_client;
}

std::string_view name(Event event) { return kEventNames[static_cast<std::size_t>(event)]; }

namespace {

/// The counters grow while they are read one after the other, so more endings than beginnings may
/// be seen.
std::uint64_t difference(std::uint64_t begun, std::uint64_t ended) {
    return begun > ended ? begun - ended : 0;
}

}  // namespace

std::uint64_t ProxyStatistics::client_connections() const {
    return difference((*this)[Event::client_accepted], (*this)[Event::client_closed]);
}

std::uint64_t ProxyStatistics::upstream_connections() const {
    return difference((*this)[Event::upstream_opened], (*this)[Event::upstream_closed]);
}

std::uint64_t ProxyStatistics::inflight_requests() const {
    return difference((*this)[Event::request_started], (*this)[Event::request_finished]);
}

std::uint64_t ProxyStatistics::waiting() const {
    return difference((*this)[Event::quota_waits], (*this)[Event::quota_waits_admitted] +
                                                       (*this)[Event::quota_waits_refused] +
                                                       (*this)[Event::quota_waits_left]);
}

std::uint64_t ProxyStatistics::tunnels() const {
    std::uint64_t ended = 0;
    for (const auto event :
         {Event::tunnel_ended, Event::tunnel_client_failed, Event::tunnel_upstream_failed,
          Event::tunnel_idle_timeout, Event::tunnel_cut_off}) {
        ended += (*this)[event];
    }
    return difference((*this)[Event::tunnel_opened], ended);
}

}  // namespace weir::proxy
