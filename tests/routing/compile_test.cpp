#include <doctest/doctest.h>

#include <cmath>

#include "routing/pattern.h"
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

TEST_CASE("errors of lists of names say which list and which name") {
    RouteSettings route = good();
    route.quotas.clear();
    route.lists = {{"a", "b/{tenant}"}, {"c", "d/{tenent}"}};
    CHECK(only_error(route).field == "quotas[1][1]");
    CHECK(only_error(route).column == 3);
    CHECK(only_error(route).suggestion == "{tenant}");
    route.lists = {{"a"}, {"b"}, {"c"}, {"d"}};
    CHECK(errors_of(RoutingSettings{{route}, true, true, 1}).empty());
    route.lists.push_back({"e"});
    CHECK(only_error(route).message == "at most 4 lists");
    route.lists = {std::vector<std::string>(9, "a"), std::vector<std::string>(8, "b")};
    CHECK(only_error(route).message == "at most 16 names");
    CHECK(only_error(route).field == "quotas");
}

TEST_CASE("errors of sources of captures") {
    const auto named = [](const char* name) {
        auto route = good();
        route.quotas = {name};
        return only_error(route);
    };
    CHECK(named("a/{heder:x}").suggestion == "{header:x}");
    CHECK(named("a/{heder:x}").column == 3);
    CHECK(named("a/{heder:x}").message.find("{basic-user}") != std::string::npos);
    CHECK(named("{clients}").suggestion == "{client}");
    CHECK(named("{header}").column == 8);
    CHECK(named("{header:}").column == 9);
    CHECK(named("{header:a b}").message.find("\"a b\" is not a name") == 0);
    CHECK(named("{cookie:a;b}").column == 9);
    CHECK(named("{query:a%20b}").column == 8);
    CHECK(named("{basic-user:x}").message == "nothing is named here; write {basic-user}");
    CHECK(named("{client:}").message == "nothing is named here; write {client}");
    CHECK(named("{header:x,readible}").suggestion == "readable");
    CHECK(named("{header:x,readible}").column == 11);
    for (const char* bad :
         {"{client:24}", "{client:v4/0}", "{client:v4/33}", "{client:v6/129}", "{client:v5/1}",
          "{client:v4/}", "{client:v4/8x}", "{client,readable}"}) {
        CAPTURE(bad);
        CHECK(named(bad).message.find("is not a prefix of addresses") != std::string::npos);
    }
    CHECK(named("{client:v4/24,v6/200}").column == 15);
    auto many = good();
    many.quotas.clear();
    for (std::size_t i = 0; i < kMaxCaptures; ++i) {
        many.quotas.push_back("{header:x" + std::to_string(i) + "}");
    }
    CHECK(only_error(many).field == "quota[15]");  // the path has a capture, too
}

TEST_CASE("errors of captures in match.headers") {
    const auto valued = [](const char* value) {
        auto route = good();
        route.match.headers = {{"x-key", true, value}};
        return only_error(route);
    };
    CHECK(valued("{heder:x}").field == "match.headers.x-key");
    CHECK(valued("{heder:x}").column == 1);
    CHECK(valued("Bearer {}").column == 8);
    CHECK(valued("a}b").column == 2);
    CHECK(valued("a{b").message == "'{' without '}'");
    CHECK(valued("{a}{b}").message == "only one capture in the value of a field");
    CHECK(valued("{tenant}").message == "{tenant} is captured twice");
    CHECK(valued("{key,plain}").message.find("is no name of a capture") != std::string::npos);
    auto twice = good();
    twice.match.headers = {{"x-key", true, "{key}"}, {"x-user", true, "{key}"}};
    CHECK(only_error(twice).field == "match.headers.x-user");
    auto unused = good();
    unused.match.headers = {{"x-key", true, "{key}"}};
    unused.quotas = {"api/{kye}"};
    CHECK(only_error(unused).suggestion == "{key}");
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
