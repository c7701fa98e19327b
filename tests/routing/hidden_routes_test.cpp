// Which routes are found to be hidden by an earlier one.
#include "routing/hidden_routes.h"

#include <doctest/doctest.h>

#include <ostream>
#include <string>

namespace weir::routing {
namespace {

RouteSettings on_path(std::string path) {
    RouteSettings settings;
    settings.match.path = std::move(path);
    settings.quotas = {"all"};
    return settings;
}

RouteSettings on_host(std::string host) {
    RouteSettings settings = on_path("");
    settings.match.hosts = {std::move(host)};
    return settings;
}

/// Whether the second of the routes is hidden by the first one.
bool hides(RouteSettings first, RouteSettings second) {
    RoutingSettings settings;
    settings.routes = {std::move(first), std::move(second)};
    const auto hidden = hidden_routes(settings);
    return hidden == std::vector<HiddenRoute>{{1, 0}};
}

TEST_CASE("a path hides those that it covers") {
    CHECK(hides(on_path("/**"), on_path("/api/x")));
    CHECK(hides(on_path("/api/**"), on_path("/api/{tenant}/**")));
    CHECK(hides(on_path("/api/**"), on_path("/api")));
    CHECK(hides(on_path("/{a}"), on_path("/x")));
    CHECK(hides(on_path("/a*"), on_path("/ab*")));
    CHECK(hides(on_path("/x"), on_path("/x")));
    CHECK(hides(on_path(""), on_path("/x")));
    CHECK_FALSE(hides(on_path("/api/x"), on_path("/**")));
    CHECK_FALSE(hides(on_path("/api/{tenant}/**"), on_path("/api/**")));
    CHECK_FALSE(hides(on_path("/{a}"), on_path("/x/**")));
    CHECK_FALSE(hides(on_path("/ab*"), on_path("/a*")));
    CHECK_FALSE(hides(on_path("/x"), on_path("/{a}")));
    // "OPTIONS *" has no path that begins with a slash.
    CHECK_FALSE(hides(on_path("/**"), on_path("")));
}

TEST_CASE("hosts, methods and fields must be covered, too") {
    CHECK(hides(on_path(""), on_host("a.example")));
    CHECK(hides(on_host("*.example"), on_host("a.example")));
    CHECK_FALSE(hides(on_host("a.example"), on_host("b.example")));
    CHECK_FALSE(hides(on_host("a.example"), on_path("")));
    RouteSettings reads = on_path("/x");
    reads.match.methods = {"GET", "HEAD"};
    RouteSettings gets = on_path("/x");
    gets.match.methods = {"GET"};
    CHECK(hides(reads, gets));
    CHECK_FALSE(hides(gets, reads));
    CHECK_FALSE(hides(gets, on_path("/x")));
    RouteSettings plan = on_path("/x");
    plan.match.headers = {{"X-Plan", false, ""}};
    RouteSettings gold = on_path("/x");
    gold.match.headers = {{"x-plan", true, "gold"}};
    CHECK(hides(plan, gold));
    CHECK_FALSE(hides(gold, plan));
    CHECK_FALSE(hides(plan, on_path("/x")));
    RouteSettings key = on_path("/x");
    key.match.headers = {{"x-plan", true, "{key}"}};
    RouteSettings token = on_path("/x");
    token.match.headers = {{"x-plan", true, "{token}"}};
    RouteSettings bearer = on_path("/x");
    bearer.match.headers = {{"x-plan", true, "Bearer {token}"}};
    CHECK(hides(plan, key));
    CHECK(hides(key, token));
    CHECK_FALSE(hides(key, plan));
    CHECK_FALSE(hides(key, gold));  // which looks at the first of several fields only
    CHECK_FALSE(hides(bearer, token));
}

TEST_CASE("the preset s3 hides itself, and a route for everything hides it") {
    RouteSettings s3;
    s3.preset = "s3";
    CHECK(hides(s3, s3));
    CHECK(hides(on_path(""), s3));
    CHECK_FALSE(hides(on_path("/**"), s3));
    CHECK_FALSE(hides(s3, on_path("/**")));
    RouteSettings of_domain = s3;
    of_domain.domains = {"s3.example"};
    CHECK_FALSE(hides(of_domain, s3));
}

TEST_CASE("settings with errors hide nothing") {
    CHECK_FALSE(hides(on_path("/**"), on_path("no slash")));
}

}  // namespace
}  // namespace weir::routing
