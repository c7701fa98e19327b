#include "node/route_findings.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/closest.h"
#include "config/flag_routes.h"
#include "node/name_globs.h"
#include "routing/hidden_routes.h"
#include "routing/name_lists.h"
#include "routing/unnamed_requests.h"

namespace weir::node {
namespace {

/// The quotas by their names in which captures are wildcards.
class QuotaGlobs {
  public:
    explicit QuotaGlobs(const std::vector<std::string_view>& quotas) {
        for (const std::string_view name : quotas) {
            globs_.insert(to_glob(name));
        }
    }
    /// Whether this name of a route can be that of a quota.
    [[nodiscard]] bool has(std::string_view name) const {
        const std::string wanted = to_glob(name);
        return globs_.contains(wanted) ||
               std::any_of(globs_.begin(), globs_.end(),
                           [&wanted](const std::string& glob) { return can_meet(wanted, glob); });
    }

  private:
    std::unordered_set<std::string> globs_;
};

std::string quoted_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "'" : ", '") + name + "'";
    }
    return text;
}

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

std::vector<RouteFinding> routes_without_quota(const std::vector<routing::RouteSettings>& routes,
                                               const std::vector<std::string_view>& quotas) {
    const QuotaGlobs globs(quotas);
    std::size_t letters_left = kLettersForSuggestions;
    const auto meant_by = [&](const std::vector<std::string>& wanted) {
        std::string_view meant;
        for (const std::string& name : wanted) {
            meant = meant.empty() ? closest(name, quotas, letters_left) : meant;
        }
        return std::string(meant);
    };
    std::vector<RouteFinding> found;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const auto lists = routing::name_lists(routes[i]);
        std::vector<std::string> all;      // names of all lists
        std::vector<std::size_t> in_vain;  // lists none of whose names is known
        for (std::size_t list = 0; list < lists.size(); ++list) {
            all.insert(all.end(), lists[list].begin(), lists[list].end());
            if (std::none_of(lists[list].begin(), lists[list].end(),
                             [&](const std::string& name) { return globs.has(name); })) {
                in_vain.push_back(list);
            }
        }
        if (!all.empty() && in_vain.size() == lists.size()) {
            found.push_back({i,
                             "there is no quota " + quoted_names(all) +
                                 ", so requests of this route pass without a limit",
                             meant_by(all)});
            continue;
        }
        for (const std::size_t list : in_vain) {
            found.push_back(
                {i,
                 "there is no quota " + quoted_names(lists[list]) + ", so this list limits nothing",
                 meant_by(lists[list]), list});
        }
    }
    return found;
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
    for (RouteFinding& one : routes_without_requests(settings.routing)) {
        warn(route_place(one.route), std::move(one.what), std::move(one.suggestion));
    }
}

}  // namespace weir::node
