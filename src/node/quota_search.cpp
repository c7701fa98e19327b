#include "node/quota_search.h"

#include <algorithm>

#include "base/closest.h"
#include "node/name_globs.h"
#include "routing/name_lists.h"

namespace weir::node {
namespace {

/// The candidate that was probably meant by the first name that is near one.
std::string meant_by(const std::vector<std::string>& names,
                     const std::vector<std::string_view>& candidates, std::size_t& letters_left) {
    std::string_view meant;
    for (const std::string& name : names) {
        meant = meant.empty() ? closest(name, candidates, letters_left) : meant;
    }
    return std::string(meant);
}

}  // namespace

QuotaGlobs::QuotaGlobs(const std::vector<std::string_view>& quotas) {
    for (const std::string_view name : quotas) {
        globs_.insert(to_glob(name));
    }
}

bool QuotaGlobs::has(std::string_view name) const {
    const std::string wanted = to_glob(name);
    return globs_.contains(wanted) ||
           std::any_of(globs_.begin(), globs_.end(),
                       [&wanted](const std::string& glob) { return can_meet(wanted, glob); });
}

QuotaSearch::QuotaSearch(const std::vector<routing::RouteSettings>& routes) {
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const auto lists = routing::name_lists(routes[i]);
        std::vector<ListOfRoute>& of_route = routes_.emplace_back();
        for (std::size_t list = 0; list < lists.size(); ++list) {
            of_route.push_back({i, list, {lists[list].begin(), lists[list].end()}});
        }
    }
}

void QuotaSearch::find_exact(const std::function<bool(const std::string& name)>& exists) {
    for (std::vector<ListOfRoute>& lists : routes_) {
        for (ListOfRoute& list : lists) {
            list.found = list.found || std::any_of(list.names.begin(), list.names.end(), exists);
        }
    }
}

void QuotaSearch::look_at(const std::vector<std::string_view>& quotas) {
    const QuotaGlobs globs(quotas);
    for (std::vector<ListOfRoute>& lists : routes_) {
        for (ListOfRoute& list : lists) {
            list.found =
                list.found || std::any_of(list.names.begin(), list.names.end(),
                                          [&](const std::string& name) { return globs.has(name); });
        }
    }
}

std::size_t QuotaSearch::missing() const {
    std::size_t count = 0;
    for (const std::vector<ListOfRoute>& lists : routes_) {
        for (const ListOfRoute& list : lists) {
            count += list.found ? 0 : list.names.size();
        }
    }
    return count;
}

std::vector<RouteFinding> QuotaSearch::findings(
    const std::vector<std::string_view>& candidates) const {
    std::size_t letters_left = kLettersForSuggestions;
    std::vector<RouteFinding> all;
    for (const std::vector<ListOfRoute>& lists : routes_) {
        for (RouteFinding& one : findings_of_route(lists, candidates, letters_left)) {
            all.push_back(std::move(one));
        }
    }
    return all;
}

std::vector<RouteFinding> QuotaSearch::findings_of_route(
    const std::vector<ListOfRoute>& lists, const std::vector<std::string_view>& candidates,
    std::size_t& letters_left) const {
    std::vector<std::string> names;  // of all lists
    for (const ListOfRoute& list : lists) {
        names.insert(names.end(), list.names.begin(), list.names.end());
    }
    const bool any_found =
        std::any_of(lists.begin(), lists.end(), [](const ListOfRoute& list) { return list.found; });
    if (!names.empty() && !any_found) {
        return {{lists.front().route,
                 "there is no quota " + quoted_names(names) +
                     ", so requests of this route pass without a limit",
                 meant_by(names, candidates, letters_left)}};
    }
    std::vector<RouteFinding> found;
    for (const ListOfRoute& list : lists) {
        if (!list.found) {
            found.push_back(
                {list.route,
                 "there is no quota " + quoted_names(list.names) + ", so this list limits nothing",
                 meant_by(list.names, candidates, letters_left), list.list});
        }
    }
    return found;
}

std::string quoted_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "'" : ", '") + name + "'";
    }
    return text;
}

std::vector<RouteFinding> routes_without_quota(const std::vector<routing::RouteSettings>& routes,
                                               const std::vector<std::string_view>& quotas) {
    QuotaSearch search(routes);
    search.look_at(quotas);
    return search.findings(quotas);
}

}  // namespace weir::node
