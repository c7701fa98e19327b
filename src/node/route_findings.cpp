#include "node/route_findings.h"

#include <algorithm>
#include <optional>

#include "base/closest.h"
#include "config/flag_routes.h"
#include "node/match_findings.h"
#include "node/quota_search.h"
#include "routing/hidden_routes.h"
#include "routing/unnamed_requests.h"

namespace weir::node {
namespace {

/// The only root of these quotas, if a route can name it as it stands; else empty.
std::string_view only_root(const std::vector<config::QuotaSet>& sets) {
    std::string_view root;
    for (const config::QuotaSet& set : sets) {
        for (const limiter::QuotaDefinition& quota : set.quotas) {
            if (quota.parent) {
                continue;
            }
            if (!root.empty() || limiter::is_template(quota.name)) {
                return {};
            }
            root = quota.name;
        }
    }
    return root;
}

/// What to do when there are no routes.
std::string advice_on_routes(const std::vector<config::QuotaSet>& sets) {
    const std::string advice =
        "say which requests are charged to which quota, as docs/routing.md shows";
    const std::string root(only_root(sets));
    return root.empty() ? advice : advice + ", or all of them to one: --route '/**=" + root + "'";
}

/// What stands before a '*' that is the whole last segment of a name, as people write it who mean a
/// catch-all. Nothing if there is no such '*'.
std::optional<std::string_view> before_star(std::string_view name) {
    const auto segment = name.rfind('/') + 1;  // 0 if there is no slash
    const auto last = name.substr(segment);
    return last == "*" || last == "**" ? std::optional(name.substr(0, segment)) : std::nullopt;
}

/// Where the routes were given: by a flag or variable, or in `file`.
std::string source_of_routes(const config::Settings& settings, const std::string& file) {
    for (const config::GivenSetting& one : settings.given) {
        if (one.key == config::kRoutesKey &&
            (one.source == config::kRouteFlag || one.source == config::kRouteVariable)) {
            return one.source;
        }
    }
    return file;
}

config::Diagnostic route_warning(const std::string& file, std::string path, std::string what,
                                 std::string suggestion) {
    return {config::Severity::warning, file, {}, std::move(path), std::move(what),
            std::move(suggestion)};
}

}  // namespace

std::string route_place(std::size_t route) { return "routes[" + std::to_string(route) + "]"; }

std::string quota_place(const RouteFinding& finding) {
    const std::string route = route_place(finding.route);
    return finding.list ? route + ".quotas[" + std::to_string(*finding.list) + "]"
                        : route + ".quota";
}

std::vector<RouteFinding> routes_without_requests(const routing::RoutingSettings& routing) {
    std::vector<RouteFinding> found;
    for (const routing::HiddenRoute& hidden : routing::hidden_routes(routing)) {
        found.push_back({hidden.route,
                         "gets no request, because " + route_place(hidden.by) +
                             " comes earlier and takes all that it matches",
                         "put the narrower route first"});
    }
    return found;
}

std::vector<RouteFinding> routes_with_unnamed_requests(
    const config::Settings& settings, const std::optional<std::vector<std::string_view>>& quotas) {
    const bool trusted = settings.trusted_proxies && !settings.trusted_proxies->empty();
    // A client on a unix socket has no address, so that it cannot be trusted either.
    const bool known = !settings.listen.is_unix() &&
                       (!settings.check || (trusted && !settings.check->listen.is_unix()));
    const auto globs = quotas ? std::optional<QuotaGlobs>(*quotas) : std::nullopt;
    const auto is_quota = [&globs](std::string_view name) { return !globs || globs->has(name); };
    std::size_t letters_left = kLettersForSuggestions;
    std::vector<RouteFinding> found;
    for (const auto& one : routing::unnamed_requests(settings.routing, known, is_quota)) {
        RouteFinding& finding = found.emplace_back();
        finding.route = one.route;
        finding.what = "requests without " + one.without + " pass without a limit";
        finding.suggestion =
            "let the list end in a name that each request has, such as 'anonymous'";
        if (!one.unknown.empty()) {
            finding.what += ", for there is no quota " + quoted_names(one.unknown);
            finding.suggestion = closest(one.unknown[0], *quotas, letters_left);
        }
    }
    return found;
}

void warn_about_routes(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                       const std::string& file, config::Diagnostics& diagnostics) {
    const std::string routes_file = source_of_routes(settings, file);
    const auto warn = [&](std::string path, std::string what, std::string suggestion) {
        const std::string& from = path.starts_with("routes[") ? routes_file : file;
        diagnostics.add(
            route_warning(from, std::move(path), std::move(what), std::move(suggestion)));
    };
    const auto& routes = settings.routing.routes;
    if (routes.empty() && !settings.check) {
        warn("routes", "there are no routes, so nothing is limited", advice_on_routes(sets));
    }
    std::vector<std::string_view> quotas;
    for (const config::QuotaSet& set : sets) {
        for (const limiter::QuotaDefinition& quota : set.quotas) {
            quotas.push_back(quota.name);
        }
    }
    for (const std::string_view name : quotas) {
        if (const auto before = before_star(name)) {
            warn("quotas",
                 "the '*' in the name '" + std::string(name) + "' is a letter like others",
                 "for all names write '" + std::string(*before) + "{rest**}'");
        }
    }
    const bool from_peers = settings.quotas.empty() && settings.cluster;
    if (quotas.empty() && !from_peers) {
        warn("quotas", "there are no quotas, so nothing is limited",
             "name a file with quotas, as docs/configuration.md shows");
    } else if (!from_peers) {
        for (RouteFinding& one : routes_without_quota(routes, quotas)) {
            warn(quota_place(one), std::move(one.what), std::move(one.suggestion));
        }
    }
    const auto known = from_peers || quotas.empty() ? std::nullopt : std::optional(quotas);
    for (RouteFinding& one : routes_with_unnamed_requests(settings, known)) {
        warn(route_place(one.route), std::move(one.what), std::move(one.suggestion));
    }
    for (MatchFinding& one : odd_conditions(routes)) {
        warn(std::move(one.place), std::move(one.what), std::move(one.suggestion));
    }
    for (RouteFinding& one : routes_without_requests(settings.routing)) {
        warn(route_place(one.route), std::move(one.what), std::move(one.suggestion));
    }
}

}  // namespace weir::node
