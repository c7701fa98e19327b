// Which routes are found to limit nothing, and what is said of them.
#include "node/route_findings.h"

#include <doctest/doctest.h>

#include <ostream>

namespace weir::node {
namespace {

using Names = std::vector<std::string_view>;

routing::RouteSettings charging(std::vector<std::string> quotas, std::string path = "/**") {
    routing::RouteSettings settings;
    settings.match.path = std::move(path);
    settings.quotas = std::move(quotas);
    return settings;
}

bool exists(std::vector<std::string> wanted, const Names& quotas) {
    return routes_without_quota({charging(std::move(wanted))}, quotas).empty();
}

config::QuotaSet set_with(std::vector<std::string> names) {
    config::QuotaSet set;
    for (std::string& name : names) {
        set.quotas.emplace_back().name = std::move(name);
    }
    return set;
}

std::string warnings_of(const config::Settings& settings, std::vector<std::string> quotas) {
    config::Diagnostics diagnostics;
    warn_about_routes(settings, {set_with(std::move(quotas))}, "weir.yaml", diagnostics);
    CHECK_FALSE(diagnostics.has_errors());
    return diagnostics.text();
}

TEST_CASE("a route is charged to a quota that its names can stand for") {
    CHECK(exists({"all"}, {"all"}));
    CHECK(exists({"b/{bucket}"}, {"b/{name}"}));
    CHECK(exists({"{bucket}"}, {"photos"}));
    CHECK(exists({"b/x"}, {"b/{bucket}"}));
    CHECK(exists({"nowhere", "all"}, {"all"}));
    CHECK(exists({"b/{bucket}/x"}, {"{rest**}"}));
    CHECK(exists({"b/{bucket}/x"}, {"b/{rest**}"}));
    CHECK(exists({"b/x/{key}"}, {"b/{rest**}"}));
    CHECK_FALSE(exists({"b"}, {"b/{rest**}"}));
    CHECK_FALSE(exists({"c/{bucket}/x"}, {"b/{rest**}"}));
    CHECK_FALSE(exists({"al"}, {"all"}));
    CHECK_FALSE(exists({"b/{bucket}"}, {"all", "b"}));
    CHECK_FALSE(exists({"all"}, {}));
}

TEST_CASE("the preset has names of its own") {
    routing::RouteSettings s3;
    s3.preset = "s3";
    CHECK(routes_without_quota({s3}, {"s3/{bucket}/write"}).empty());
    CHECK(routes_without_quota({s3}, {"s3"}).empty());
    CHECK(routes_without_quota({s3}, {"s4"}).size() == 1);
}

TEST_CASE("what is said of a route without quota names what was probably meant") {
    const auto found = routes_without_quota({charging({"all"}), charging({"al"})}, {"all", "b"});
    REQUIRE(found.size() == 1);
    CHECK(found[0] == RouteFinding{1,
                                   "there is no quota 'al', so requests of this route pass without "
                                   "a limit",
                                   "all"});
}

TEST_CASE("each list of names that limits nothing is named, or the route if all do so") {
    routing::RouteSettings route;
    route.lists = {{"user/{u}", "anonymous"}, {"spaces/{w}"}, {"all"}};
    const auto found = routes_without_quota({route}, {"user/{u}", "space/{w}", "all"});
    REQUIRE(found.size() == 1);
    CHECK(found[0] == RouteFinding{0, "there is no quota 'spaces/{w}', so this list limits nothing",
                                   "space/{w}", 1});
    CHECK(quota_place(found[0]) == "routes[0].quotas[1]");
    const auto all = routes_without_quota({route}, {"nothing"});
    REQUIRE(all.size() == 1);
    CHECK_FALSE(all[0].list);
    CHECK(all[0].what ==
          "there is no quota 'user/{u}', 'anonymous', 'spaces/{w}', 'all', so requests of this "
          "route pass without a limit");
}

TEST_CASE("warnings about routes and quotas") {
    config::Settings settings;
    settings.quotas = {"quotas.yaml"};
    settings.routing.routes = {charging({"al"}), charging({"all"}, "/x")};
    CHECK(warnings_of(settings, {"all"}) ==
          "weir.yaml: warning: routes[0].quota: there is no quota 'al', so requests of this route "
          "pass without a limit, did you mean 'all'?\n"
          "weir.yaml: warning: routes[1]: gets no request, because routes[0] comes earlier and "
          "takes all that it matches, put the narrower route first\n");
    settings.routing.routes = {charging({"all"})};
    CHECK(warnings_of(settings, {"all"}).empty());
    CHECK(warnings_of(settings, {}).find("there are no quotas") != std::string::npos);
    settings.routing.routes.clear();
    CHECK(warnings_of(settings, {"all"}).find("there are no routes") != std::string::npos);
    // Questions of other hosts may name their quota themselves.
    settings.check.emplace();
    CHECK(warnings_of(settings, {"all"}).empty());
}

TEST_CASE("requests that lack what each of the route's names needs") {
    config::Settings settings;
    const auto without = [&settings](std::vector<std::string> names) {
        settings.routing.routes = {charging(std::move(names))};
        const auto found = routes_with_unnamed_requests(settings);
        return found.empty() ? "" : found[0].what;
    };
    CHECK(without({"api/{header:x-key}", "api/{cookie:s}/{client}"}) ==
          "requests without header:x-key and cookie:s pass without a limit");
    CHECK(without({"api/{basic-user}"}) == "requests without basic-user pass without a limit");
    CHECK(without({"api/{header:x-key}", "api/anonymous"}).empty());
    CHECK(without({"api/{header:x-key}", "api/{client}"}).empty());
    settings.check.emplace();
    CHECK(without({"api/{header:x-key}", "api/{client}"}) ==
          "requests without header:x-key and client pass without a limit");
    settings.trusted_proxies.emplace({AddressBlock{}});
    CHECK(without({"api/{header:x-key}", "api/{client}"}).empty());
    settings.check.reset();
    settings.trusted_proxies.reset();
    settings.listen.path = "/run/weir.sock";
    CHECK(without({"api/{client}"}) == "requests without client pass without a limit");
    // The route matches nothing else than requests with a key.
    settings.routing.routes = {charging({"api/{key}"})};
    settings.routing.routes[0].match.headers = {{"x-key", true, "{key}"}};
    CHECK(routes_with_unnamed_requests(settings).empty());
}

TEST_CASE("warnings about requests without a name") {
    config::Settings settings;
    settings.quotas = {"quotas.yaml"};
    settings.routing.routes = {charging({"api/{header:x-key}"})};
    CHECK(warnings_of(settings, {"api/{key}"}) ==
          "weir.yaml: warning: routes[0]: requests without header:x-key pass without a "
          "limit, let the list end in a name that each request has, such as 'anonymous'\n");
    settings.routing.routes = {charging({"api/{header:x-key}", "ap/{client}"})};
    CHECK(warnings_of(settings, {"api/{key}", "ap/{client}"}).empty());
    CHECK(warnings_of(settings, {"api/{key}", "app/{client}"}) ==
          "weir.yaml: warning: routes[0]: requests without header:x-key pass without a limit, for "
          "there is no quota 'ap/{client}', did you mean 'app/{client}'?\n");
    // None of the names is known: that is told at the route's quota, once.
    CHECK(warnings_of(settings, {"other"}).find("requests without") == std::string::npos);
    // Whatever peers have, nobody here knows.
    settings.quotas.clear();
    settings.cluster.emplace();
    CHECK(warnings_of(settings, {}).empty());
}

TEST_CASE("a condition that was probably meant otherwise is warned of at its place") {
    config::Settings settings;
    settings.quotas = {"quotas.yaml"};
    settings.routing.routes = {charging({"all"}, "/api/:tenant")};
    CHECK(warnings_of(settings, {"all"}) ==
          "weir.yaml: warning: routes[0].match.path: a capture is written in braces, and "
          "everything else is taken as it stands, did you mean '/api/{tenant}'?\n");
}

TEST_CASE("a star in a quota's name is no catch-all") {
    config::Settings settings;
    settings.quotas = {"quotas.yaml"};
    settings.routing.routes = {charging({"web/x"})};
    CHECK(
        warnings_of(settings, {"web/*", "web/x"}) ==
        "weir.yaml: warning: quotas: the '*' in the name 'web/*' is a letter like others, for all "
        "names write 'web/{rest**}'\n");
    CHECK(warnings_of(settings, {"**", "web/x"}).find("write '{rest**}'") != std::string::npos);
    CHECK(warnings_of(settings, {"web/{rest**}", "web/a*", "web/*/b"}).empty());
}

TEST_CASE("nothing is said of quotas that only peers have") {
    config::Settings settings;
    settings.cluster.emplace();
    settings.routing.routes = {charging({"al"})};
    CHECK(warnings_of(settings, {}).empty());
}

}  // namespace
}  // namespace weir::node
