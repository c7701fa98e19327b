#pragma once
// Finds routes that limit nothing: those none of whose quotas exists (quota_search.h), and those
// that an earlier route hides. `weir validate` warns of them, and a running sidecar lists them as
// problems, in the same words. Pure functions, thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "config/settings.h"
#include "routing/route_settings.h"

namespace weir::node {

/// One thing that is wrong with a route.
struct RouteFinding {
    std::size_t route = 0;   ///< index of the route
    std::string what;        ///< what is wrong, as part of a sentence
    std::string suggestion;  ///< the name that was probably meant; may be empty
    /// It is wrong only with this list of the route's `quotas`; others limit its requests.
    std::optional<std::size_t> list = std::nullopt;
    friend bool operator==(const RouteFinding&, const RouteFinding&) = default;
};

/// The place of a route in the settings, such as "routes[2]".
[[nodiscard]] std::string route_place(std::size_t route);

/// The place of what is wrong with `quota` or a list of `quotas`: "routes[2].quotas[1]".
[[nodiscard]] std::string quota_place(const RouteFinding& finding);

/// The routes that get no request, because an earlier one takes all that they match.
[[nodiscard]] std::vector<RouteFinding> routes_without_requests(
    const routing::RoutingSettings& routing);

/// The routes some of whose requests pass without a limit, because each name that can be that of a
/// quota in `quotas` needs something that a request may lack, such as a field. Without `quotas`
/// every name can.
[[nodiscard]] std::vector<RouteFinding> routes_with_unnamed_requests(
    const config::Settings& settings,
    const std::optional<std::vector<std::string_view>>& quotas = std::nullopt);

/// Warns of all this and of odd conditions (match_findings.h) in the settings and quota documents
/// of a sidecar, and of settings without routes or quotas. `file` is the file with the routes.
/// Quotas may also come from peers, so nothing is said about them when there is a cluster and no
/// quota file.
void warn_about_routes(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                       const std::string& file, config::Diagnostics& diagnostics);

}  // namespace weir::node
