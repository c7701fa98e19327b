#include <doctest/doctest.h>

#include <cmath>

#include "routing/routes.h"

namespace weir::routing {
namespace {

RouteError only_error(const RouteSettings& route) {
    RoutingSettings settings;
    settings.routes = {route};
    const auto errors = errors_of(settings);
    REQUIRE(errors.size() == 1);
    return errors[0];
}

RouteSettings good() {
    RouteSettings route;
    route.match.path = "/api/{tenant}/**";
    route.quotas = {"api/{tenant}"};
    return route;
}

TEST_CASE("errors come with their place, all at once") {
    RoutingSettings settings;
    settings.routes = {good(), good(), good()};
    settings.routes[0].match.path = "/a/{x";
    settings.routes[0].quotas = {"q"};
    settings.routes[2].quotas = {"ok", "api/{tennant}"};
    const auto errors = errors_of(settings);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].route == 0);
    CHECK(errors[0].field == "match.path");
    CHECK(errors[0].column == 4);
    CHECK(errors[1].route == 2);
    CHECK(errors[1].field == "quota[1]");
    CHECK(errors[1].column == 5);
    CHECK(errors[1].suggestion == "{tenant}");
    CHECK(errors[1].message.find("{tennant}") != std::string::npos);
}

TEST_CASE("every kind of error") {
    CHECK(errors_of(RoutingSettings{{good()}, true, true, 1}).empty());
    auto route = good();
    route.quotas.clear();
    CHECK(only_error(route).field == "quota");
    route = good();
    route.quotas = {"a}b"};
    CHECK(only_error(route).column == 2);
    route.quotas = {"a{b"};
    CHECK(only_error(route).column == 2);
    route.quotas = {""};
    CHECK(only_error(route).column == 1);
    route.quotas = std::vector<std::string>(17, "q");
    CHECK(only_error(route).field == "quota");
    route = good();
    route.match.methods = {"GET", "G T"};
    CHECK(only_error(route).field == "match.methods[1]");
    route = good();
    route.match.headers = {{"", false, ""}};
    CHECK(only_error(route).field == "match.headers[0]");
    route = good();
    route.match.hosts = {"a:80"};
    CHECK(only_error(route).field == "match.hosts[0]");
    route.match.hosts = {"{x}.a", "{y}.b"};
    CHECK(only_error(route).field == "match.hosts[1]");
    route.match.hosts = {"{tenant}.a"};
    CHECK(only_error(route).field == "match.path");
    route = good();
    route.domains = {"a"};
    CHECK(only_error(route).field == "domain");
    route = good();
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
        route.weight.constant = bad;
        CHECK(only_error(route).field == "weight");
    }
    route = good();
    route.weight = {WeightSource::table, 1, {{"GET", -1}}, ""};
    CHECK(only_error(route).field == "weight.GET");
    route.weight = {WeightSource::header, 1, {}, "x y"};
    CHECK(only_error(route).field == "weight");
}

TEST_CASE("errors of presets") {
    RouteSettings route;
    route.preset = "s4";
    CHECK(only_error(route).suggestion == "s3");
    route.preset = "s3";
    CHECK(errors_of(RoutingSettings{{route}, true, true, 1}).empty());
    route.match.path = "/x";
    CHECK(only_error(route).field == "match");
    route.match.path.clear();
    route.domains = {"s3.example.net:80"};
    CHECK(only_error(route).column == 15);
    route.domains = {""};
    CHECK(only_error(route).field == "domain[0]");
    route.domains.clear();
    route.weight = {WeightSource::table, 1, {{"ListObjectV2", 10}}, ""};
    CHECK(only_error(route).suggestion == "ListObjectsV2");
    route.weight = {};
    route.quotas = {"s3/{bukket}"};
    CHECK(only_error(route).suggestion == "{bucket}");
}

}  // namespace
}  // namespace weir::routing
