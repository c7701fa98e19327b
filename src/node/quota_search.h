#pragma once
// Finds the routes that limit nothing because no quota has one of the names that they charge. The
// names of the quotas may be given in parts, so that a look at a million of them can be spread over
// many turns of a thread that has other work.
//
// Plain values without locks: one thread uses a search at a time.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "node/route_findings.h"
#include "routing/route_settings.h"

namespace weir::node {

/// Names of quotas, in which captures stand for any text.
class QuotaGlobs {
  public:
    explicit QuotaGlobs(const std::vector<std::string_view>& quotas);
    /// Whether this name of a route can be that of a quota.
    [[nodiscard]] bool has(std::string_view name) const;

  private:
    std::unordered_set<std::string> globs_;
};

class QuotaSearch {
  public:
    /// Keeps copies of the names that the routes charge.
    explicit QuotaSearch(const std::vector<routing::RouteSettings>& routes);

    /// Finds the names for which `exists` says that a quota has exactly that name.
    void find_exact(const std::function<bool(const std::string& name)>& exists);
    /// Looks for the routes' names among these names of quotas.
    void look_at(const std::vector<std::string_view>& quotas);
    /// How many names the lists have of which no name has been found yet. look_at() takes time by
    /// this number times the number of quotas that it is given.
    [[nodiscard]] std::size_t missing() const;
    /// The routes, and of others the lists, with names none of which has been found. The names that
    /// were probably meant are looked for among `candidates`.
    [[nodiscard]] std::vector<RouteFinding> findings(
        const std::vector<std::string_view>& candidates) const;

  private:
    struct ListOfRoute {
        std::size_t route = 0;
        std::size_t list = 0;
        std::vector<std::string> names;
        bool found = false;
    };
    [[nodiscard]] std::vector<RouteFinding> findings_of_route(
        const std::vector<ListOfRoute>& lists, const std::vector<std::string_view>& candidates,
        std::size_t& letters_left) const;

    std::vector<std::vector<ListOfRoute>> routes_;
};

/// The routes, and of others the lists, with names of quotas none of which can be the name of a
/// quota in `quotas` (names of definitions, with their captures). Such a list limits nothing.
[[nodiscard]] std::vector<RouteFinding> routes_without_quota(
    const std::vector<routing::RouteSettings>& routes, const std::vector<std::string_view>& quotas);

/// Names in quotation marks with commas between them.
[[nodiscard]] std::string quoted_names(const std::vector<std::string>& names);

}  // namespace weir::node
