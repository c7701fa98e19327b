#include "app/figures.h"

#include <array>

#include "node/route_findings.h"

namespace weir::app {
namespace {

template <std::size_t count>
admin::HistogramFigures histogram(const proxy::Histogram& from,
                                  const std::array<double, count>& bounds) {
    return {.upper_bounds = {bounds.begin(), bounds.end()},
            .counts = {from.counts.begin(), from.counts.end()},
            .sum = from.sum_seconds};
}

void add_requests(const proxy::ProxyStatistics& statistics, admin::ProxyFigures& figures) {
    for (std::size_t i = 0; i < proxy::kEndings; ++i) {
        const auto ending = static_cast<proxy::Ending>(i);
        const std::string outcome(proxy::outcome(ending));
        const std::string reason(proxy::reason(ending));
        if (proxy::ends_requests(ending)) {
            figures.requests.push_back({outcome, reason, statistics[ending]});
        }
        if (proxy::ends_checks(ending)) {
            figures.checks.push_back({outcome, reason, statistics.checks[i]});
        }
    }
}

void add_durations(const proxy::ProxyStatistics& statistics, admin::ProxyFigures& figures) {
    constexpr std::array<const char*, 5> kClasses = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
        figures.request_seconds[kClasses[i]] =
            histogram(statistics.request_seconds[i], proxy::kDurationBounds);
    }
    figures.upstream_seconds = histogram(statistics.upstream_seconds, proxy::kDurationBounds);
    figures.wait_seconds = histogram(statistics.wait_seconds, proxy::kDurationBounds);
    figures.decision_seconds = histogram(statistics.decision_seconds, proxy::kDecisionBounds);
}

void add_traffic(const proxy::ProxyStatistics& statistics, admin::ProxyFigures& figures) {
    using proxy::Event;
    figures.inflight_requests = statistics.inflight_requests();
    figures.tunnels = statistics.tunnels();
    figures.waiting = statistics.waiting();
    figures.connections = {{"client", statistics.client_connections()},
                           {"upstream", statistics.upstream_connections()}};
    figures.bytes = {{{"client", "in"}, statistics[Event::client_bytes_in]},
                     {{"client", "out"}, statistics[Event::client_bytes_out]},
                     {{"upstream", "in"}, statistics[Event::upstream_bytes_in]},
                     {{"upstream", "out"}, statistics[Event::upstream_bytes_out]}};
}

/// Adds counts by route. Each route that there is has its count from the beginning on, also when it
/// is 0.
void add_by_route(const std::array<std::uint64_t, proxy::kRoutePlaces>& counts, std::size_t routes,
                  std::map<std::string, std::uint64_t>& by_route) {
    for (std::size_t i = 0; i < proxy::kCountedRoutes; ++i) {
        if (i < routes || counts[i] != 0) {
            by_route[node::route_place(i)] = counts[i];
        }
    }
    if (routes > proxy::kCountedRoutes || counts[proxy::kOtherRoutes] != 0) {
        by_route["__other__"] = counts[proxy::kOtherRoutes];
    }
}

bool is_shown_otherwise(proxy::Event event) {
    using proxy::Event;
    return event == Event::client_bytes_in || event == Event::client_bytes_out ||
           event == Event::upstream_bytes_in || event == Event::upstream_bytes_out;
}

}  // namespace

admin::ProxyFigures to_figures(const proxy::ProxyStatistics& statistics, std::size_t routes) {
    admin::ProxyFigures figures;
    add_requests(statistics, figures);
    add_durations(statistics, figures);
    add_traffic(statistics, figures);
    add_by_route(statistics.unlimited, routes, figures.unlimited);
    figures.unlimited["none"] = statistics.unlimited[proxy::kNoRoute];
    add_by_route(statistics.partly_unlimited, routes, figures.partly_unlimited);
    for (std::size_t i = 0; i < proxy::kEvents; ++i) {
        const auto event = static_cast<proxy::Event>(i);
        if (!is_shown_otherwise(event)) {
            figures.events[std::string(proxy::name(event))] = statistics[event];
        }
    }
    return figures;
}

}  // namespace weir::app
