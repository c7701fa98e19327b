#include "routing/unnamed_requests.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "routing/compiled_routes.h"

namespace weir::routing {
namespace {

/// The sources of a route that may have no value. A source of match.headers always has one, because
/// the route matches no other requests.
std::vector<NumberedSource> uncertain_sources(const CompiledRoute& route, bool addresses_known) {
    std::vector<NumberedSource> uncertain;
    for (std::size_t i = 0; i < route.sources.size(); ++i) {
        const bool matched =
            std::any_of(route.headers.begin(), route.headers.end(),
                        [i](const FieldCondition& condition) { return condition.source == i; });
        if (!matched && !(addresses_known && route.sources[i].source.is_client_address())) {
            uncertain.push_back(route.sources[i]);
        }
    }
    return uncertain;
}

/// What a request lacks that has none of the route's names; empty if there always is one.
std::string lacking(const CompiledRoute& route, bool addresses_known) {
    const auto uncertain = uncertain_sources(route, addresses_known);
    std::string all;
    for (const auto& quota : route.quotas) {
        const auto captures = quota.captures();
        const auto found =
            std::find_if(uncertain.begin(), uncertain.end(), [&](const NumberedSource& one) {
                return std::find(captures.begin(), captures.end(), one.capture) != captures.end();
            });
        if (found == uncertain.end()) {
            return {};
        }
        const auto what = found->source.describe();
        if (all.find(what) == std::string::npos) {
            all += (all.empty() ? "" : " and ") + what;
        }
    }
    return all;
}

}  // namespace

std::vector<UnnamedRequests> unnamed_requests(const RoutingSettings& settings,
                                              bool addresses_known) {
    const auto compiled = compile_routes(settings);
    const auto* all = std::get_if<std::unique_ptr<CompiledRoutes>>(&compiled);
    std::vector<UnnamedRequests> found;
    for (std::size_t i = 0; all != nullptr && i < (*all)->routes.size(); ++i) {
        if (auto what = lacking((*all)->routes[i], addresses_known); !what.empty()) {
            found.push_back({i, std::move(what)});
        }
    }
    return found;
}

}  // namespace weir::routing
