// A search for the quotas of routes whose names come in parts.
#include "node/quota_search.h"

#include <doctest/doctest.h>

namespace weir::node {
namespace {

routing::RouteSettings with_lists(std::vector<std::vector<std::string>> lists) {
    routing::RouteSettings settings;
    settings.lists = std::move(lists);
    return settings;
}

TEST_CASE("names that come in parts are found as those that come at once") {
    const std::vector routes = {with_lists({{"user/{u}"}, {"space/{s}"}}), with_lists({{"al"}})};
    QuotaSearch search(routes);
    CHECK(search.missing() == 3);
    search.look_at({"all", "b"});
    CHECK(search.missing() == 3);
    search.look_at({"space/{name}"});
    CHECK(search.missing() == 2);
    search.look_at({"z"});
    const std::vector<std::string_view> candidates = {"all", "users/{u}"};
    CHECK(search.findings(candidates) ==
          routes_without_quota(routes, {"all", "b", "space/{name}", "users/{u}", "z"}));
    REQUIRE(search.findings(candidates).size() == 2);
    CHECK(quota_place(search.findings(candidates)[0]) == "routes[0].quotas[0]");
    CHECK(search.findings(candidates)[1].suggestion == "all");
    search.look_at({"al", "user/x"});
    CHECK(search.missing() == 0);
    CHECK(search.findings(candidates).empty());
}

TEST_CASE("exact names are found without a look at all others") {
    QuotaSearch search({with_lists({{"a", "b"}}), with_lists({{"c"}})});
    search.find_exact([](const std::string& name) { return name == "b"; });
    CHECK(search.missing() == 1);
}

TEST_CASE("a list is found with the first of its names") {
    QuotaSearch search({with_lists({{"a/{x}", "b", "c"}})});
    CHECK(search.missing() == 3);
    search.look_at({"c"});
    CHECK(search.missing() == 0);
}

}  // namespace
}  // namespace weir::node
