// The index must find what trying one route after the other finds: here with routers of one route
// each as the reference.
#include "routing/route_index.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "routing/routes.h"

namespace weir::routing {
namespace {

template <class T>
T pick(std::initializer_list<T> choices) {
    return *rc::gen::elementOf(std::vector<T>(choices));
}

RouteSettings any_route() {
    RouteSettings route;
    const auto hosts = pick<std::string>({"", "", "h", "g.h", "*.h", "**.h", "{host}.h", "two"});
    if (hosts == "two") {
        route.match.hosts = {"h", "g.h"};
    } else if (!hosts.empty()) {
        route.match.hosts = {hosts};
    }
    const auto length = *rc::gen::inRange(0, 5);
    for (int i = 0; i < length; ++i) {
        route.match.path += pick<std::string>({"/a", "/b", "/ab", "/*", "/a*", "/*b"});
    }
    if (length < 4 && *rc::gen::arbitrary<bool>()) {
        route.match.path += "/{last}";
    }
    if (*rc::gen::arbitrary<bool>()) {
        route.match.path += "/**";
    }
    const auto method = pick<std::string>({"", "GET", "POST", "PURGE"});
    if (!method.empty()) {
        route.match.methods = {method};
    }
    const bool last = route.match.path.find("{last}") != std::string::npos;
    const bool host = hosts == "{host}.h";
    route.quotas = {"q" + std::string(last ? "/{last}" : "") + (host ? "/{host}" : "")};
    return route;
}

TEST_CASE("the index finds the first route that matches") {
    CHECK(rc::check("as one after the other", [] {
        RoutingSettings settings;
        const auto count = *rc::gen::inRange(1, 30);
        for (int i = 0; i < count; ++i) {
            settings.routes.push_back(any_route());
        }
        const auto router = compile(settings);
        std::vector<std::shared_ptr<const Router>> single;
        for (const auto& route : settings.routes) {
            RoutingSettings one;
            one.routes = {route};
            single.push_back(compile(one));
        }
        for (int i = 0; i < 20; ++i) {
            std::string path = pick<std::string>({"", "/", "//"});
            const auto length = *rc::gen::inRange(1, 6);
            for (int j = 0; j < length; ++j) {
                path += pick<std::string>({"/a", "/b", "/ab", "/aab", "/c", "/./a", "/%61"});
            }
            const auto text = request(path, pick<std::string>({"GET", "POST", "PURGE", "LOCK"}),
                                      pick<std::string>({"h", "G.h:80", "f.h", "e.f.h", "x"}));
            Routed routed(*router, text);
            std::size_t expected = 0;
            std::string names = "(unrouted)";
            for (; expected < single.size() && names == "(unrouted)"; ++expected) {
                names = Routed(*single[expected], text).names();
            }
            RC_ASSERT(routed.names() == names);
            if (routed.result.outcome == RouteOutcome::routed) {
                RC_ASSERT(routed.result.route + 1 == expected);
            }
        }
    }));
}

TEST_CASE("captures are those of the route that was found") {
    RoutingSettings settings;
    settings.routes.resize(3);
    settings.routes[0].match.path = "/{x}/b/c";
    settings.routes[0].match.methods = {"POST"};
    settings.routes[0].quotas = {"never/{x}"};
    settings.routes[1].match.path = "/*/{x}/c";
    settings.routes[1].quotas = {"found/{x}"};
    settings.routes[2].match.path = "/a/**";
    settings.routes[2].quotas = {"later"};
    const auto router = compile(settings);
    CHECK(Routed(*router, request("/a/b/c")).names() == "found/b");
    CHECK(Routed(*router, request("/a/b/d")).names() == "later");
    CHECK(Routed(*router, request("/a/b/c", "POST")).names() == "never/a");
}

TEST_CASE("S3 among routes: the first in the list decides, with its own bucket") {
    RoutingSettings settings;
    settings.routes.resize(3);
    settings.routes[0].match.path = "/status/{page}";
    settings.routes[0].quotas = {"status/{page}"};
    settings.routes[1].preset = "s3";
    settings.routes[1].domains = {"s3.example"};
    settings.routes[1].quotas = {"s3/{bucket}"};
    settings.routes[2].match.hosts = {"s3.example"};
    settings.routes[2].match.path = "/{page}/**";
    settings.routes[2].quotas = {"other/{page}"};
    const auto router = compile(settings);
    CHECK(Routed(*router, request("/photos/k", "GET", "s3.example")).names() == "s3/photos");
    CHECK(Routed(*router, request("/status/k", "GET", "s3.example")).names() == "status/k");
    CHECK(Routed(*router, request("/photos/k", "GET", "else.example")).names() == "(unrouted)");
}

TEST_CASE("literal texts keep the number that they were given first") {
    LiteralMap map;
    CHECK_FALSE(map.find(""));
    CHECK(map.insert("same", 0) == 0);
    CHECK(map.insert("same", 1) == 0);
    for (std::uint32_t i = 1; i < 1000; ++i) {
        // Alike in front and at the end, up to lengths beyond a few words.
        const auto text = "segment" + std::string(i % 40, '-') + std::to_string(i) + "-segment";
        REQUIRE(map.insert(text, i) == i);
        REQUIRE(map.find(text) == i);
        REQUIRE_FALSE(map.find(text + "x"));
    }
    CHECK(map.find("same") == 0U);
}

}  // namespace
}  // namespace weir::routing
