#include "routing/unnamed_requests.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "base/assert.h"
#include "routing/compiled_routes.h"
#include "routing/name_lists.h"

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

/// The route's names as the settings have them, in the order of the compiled ones.
std::vector<std::string> names_of(const RouteSettings& route) {
    std::vector<std::string> names;
    for (const auto& list : name_lists(route)) {
        names.insert(names.end(), list.begin(), list.end());
    }
    return names;
}

/// What a request lacks that has none of the route's names; `without` is empty if there always is
/// one, or if none of them counts.
UnnamedRequests lacking(const CompiledRoute& route, const std::vector<std::string>& names,
                        bool addresses_known,
                        const std::function<bool(std::string_view)>& is_quota) {
    const auto uncertain = uncertain_sources(route, addresses_known);
    UnnamedRequests result;
    std::string& all = result.without;
    WEIR_ASSERT(names.size() == route.quotas.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto captures = route.quotas[i].captures();
        const auto found =
            std::find_if(uncertain.begin(), uncertain.end(), [&](const NumberedSource& one) {
                return std::find(captures.begin(), captures.end(), one.capture) != captures.end();
            });
        const bool counts = is_quota(names[i]);
        if (found == uncertain.end()) {
            if (counts) {
                return {};
            }
            result.unknown.push_back(names[i]);
            continue;
        }
        if (!counts) {
            continue;
        }
        const auto what = found->source.describe();
        if (all.find(what) == std::string::npos) {
            all += (all.empty() ? "" : " and ") + what;
        }
    }
    return result;
}

}  // namespace

std::vector<UnnamedRequests> unnamed_requests(
    const RoutingSettings& settings, bool addresses_known,
    const std::function<bool(std::string_view)>& is_quota) {
    const auto compiled = compile_routes(settings);
    const auto* all = std::get_if<std::unique_ptr<CompiledRoutes>>(&compiled);
    std::vector<UnnamedRequests> found;
    for (std::size_t i = 0; all != nullptr && i < (*all)->routes.size(); ++i) {
        auto one =
            lacking((*all)->routes[i], names_of(settings.routes[i]), addresses_known, is_quota);
        if (!one.without.empty()) {
            one.route = i;
            found.push_back(std::move(one));
        }
    }
    return found;
}

}  // namespace weir::routing
