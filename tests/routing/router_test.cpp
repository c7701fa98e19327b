#include "routing/router.h"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <cstdlib>

#include "routing/routes.h"

namespace weir::routing {
namespace {

using namespace std::string_literals;

RouteSettings route(std::string path, std::vector<std::string> quotas) {
    RouteSettings settings;
    settings.match.path = std::move(path);
    settings.quotas = std::move(quotas);
    return settings;
}

std::string names(const std::vector<RouteSettings>& routes, const std::string& text) {
    RoutingSettings settings;
    settings.routes = routes;
    return Routed(*compile(settings), text).names();
}

TEST_CASE("captures fill names in order") {
    const std::vector<RouteSettings> routes{
        route("/api/{tenant}/**", {"api/{tenant}/read", "api/{tenant}"})};
    CHECK(names(routes, request("/api/t1/x?y")) == "api/t1/read, api/t1");
    CHECK(names(routes, request("/api/%741//x/../y")) == "api/t1/read, api/t1");
    CHECK(names(routes, request("/api/t1")) == "api/t1/read, api/t1");
    CHECK(names(routes, request("/api/a%252Fb/x")) == "api/a%252Fb/read, api/a%252Fb");
    CHECK(names(routes, request("/other")) == "(unrouted)");
    CHECK(names({}, request("/%2e%2e/%zz")) == "(unrouted)");
}

TEST_CASE("the first route that matches counts: host, path, method, headers") {
    auto by_method = route("/x", {"methods"});
    by_method.match.methods = {"PUT", "POST"};
    auto by_host = route("/x", {"shop/{shop}"});
    by_host.match.hosts = {"{shop}.shops.example", "{shop}.Shops.Test"};
    auto by_header = route("/x", {"header"});
    by_header.match.headers = {{"X-Plan", true, "gold"}, {"X-Any", false, ""}};
    auto any = route("", {"any"});
    const std::vector<RouteSettings> routes{by_method, by_host, by_header, any};
    CHECK(names(routes, request("/x", "PUT")) == "methods");
    CHECK(names(routes, request("/x", "GET", "S1.shops.TEST:80")) == "shop/s1");
    CHECK(names(routes, request("/x", "GET", "a", "x-plan: gold\r\nx-any:\r\n")) == "header");
    CHECK(names(routes, request("/x", "GET", "a", "x-plan: golden\r\nx-any:\r\n")) == "any");
    CHECK(names(routes, request("/x", "GET", "a", "x-plan: gold\r\n")) == "any");
    CHECK(names(routes, request("*", "OPTIONS")) == "any");
}

TEST_CASE("ambiguous paths are refused unless the route allows them") {
    auto api = route("/api/{tenant}/**", {"api/{tenant}"});
    for (const auto* target :
         {"/api/%2e%2e/x", "/api/a%2Fb/x", "/api%2Ft/x", "/api/t/%zz", "/../api/t", "/api\\t/x",
          "/api%5Ct/x", "/api/a%5Cb/x", "/api/a\\b", "/api/t%0A/x", "/api%0A/t", "/api/t/x%00",
          "/api/t%2Fy\\z", "/api/t/x\\..\\y", "/x\\..\\api/t", "/x%2F..%2Fapi/t/", "/%2e%2e/y"}) {
        CAPTURE(target);
        CHECK(names({api}, request(target)) == "(ambiguous)");
    }
    CHECK(names({api}, request("/api/t/x%2Fy")) == "api/t");
    CHECK(names({api}, request("/static/x%2Fy")) == "(unrouted)");
    for (const auto* rest : {"x%5Cy", "x\\y", "x%0D%0Ay%09", "%7f", "^{}\"<>`|"}) {
        CAPTURE(rest);
        CHECK(names({api}, request("/api/t/"s + rest)) == "api/t");
        CHECK(names({api}, request("/static/"s + rest)) == "(unrouted)");
    }
    // These stand for themselves wherever they are.
    CHECK(names({api}, request("/api/{^\"/x")) == "api/%7B%5E%22");
    // No route looks at the path.
    CHECK(names({route("", {"all"})}, request("/a\\..%5C%00%zz")) == "all");
    api.allow_ambiguous_path = true;
    CHECK(names({api}, request("/api/a%2Fb/x")) == "api/a%2Fb");
    CHECK(names({api}, request("/api/%2e%2e/x")) == "api/..");
}

TEST_CASE("another spelling of a key may not lead around a route before the preset s3") {
    RouteSettings s3;
    s3.preset = "s3";
    const std::vector<RouteSettings> routes{route("/photos/admin/**", {"admin"}), s3};
    CHECK(names(routes, request("/photos/admin/x")) == "admin");
    for (const auto* path : {"/photos/admin%2Fx", "/photos/admin%2Fx%5Cy", "/photos/ad%0Amin/x",
                             "/photos/admin%2Fx/../y", "/photos/admin%2Fx%5C/../y"}) {
        CAPTURE(path);
        CHECK(names(routes, request(path)) == "(ambiguous)");
    }
    for (const auto* path : {"/photos/other%2Fx", "/other/admin%2Fx%5Cy", "/photos/b/a%2Fx%5Cy"}) {
        CAPTURE(path);
        CHECK(names(routes, request(path)) == names({s3}, request(path)));
    }
    // Where no earlier route could match, the key may be what it is.
    const std::vector<RouteSettings> after{s3, route("/photos/admin/**", {"admin"})};
    for (const auto* path : {"/photos/admin%2Fx%5C/../y", "/photos/a%2Fx%0A%00"}) {
        CAPTURE(path);
        CHECK(names(after, request(path)) == names({s3}, request(path)));
    }
}

TEST_CASE("an escaped slash may not lead around a narrower route") {
    const std::vector<RouteSettings> routes{route("/api/*/admin/**", {"admin"}),
                                            route("/api/**", {"api"})};
    CHECK(names(routes, request("/api/t/admin/x")) == "admin");
    CHECK(names(routes, request("/api/t%2Fadmin/x")) == "(ambiguous)");
    CHECK(names(routes, request("/api/t%2Fother/x")) == "api");
    for (const auto* separator : {"\\", "%5C"}) {
        CAPTURE(separator);
        CHECK(names(routes, request("/api/t"s + separator + "admin/x")) == "(ambiguous)");
        CHECK(names(routes, request("/api/t"s + separator + "other/x")) == "api");
    }
    CHECK(names(routes, request("/api/t/ad%0Amin/x")) == "(ambiguous)");
    CHECK(names(routes, request("/api/t/ad%0Amino/x")) == "api");
}

TEST_CASE("a dot segment behind a doubtful one may not choose another quota") {
    const auto api = route("/api/{tenant}/**", {"api/{tenant}"});
    const auto any = route("/{tenant}/**", {"{tenant}"});
    for (const auto* doubtful : {"x%2Fy", "x\\y", "x%5Cy", "x%0A", "%0A"}) {
        CAPTURE(doubtful);
        const auto segment = "/"s + doubtful;
        CHECK(names({api}, request("/api/A" + segment + "/../../T/z")) == "(ambiguous)");
        CHECK(names({api}, request("/api/A" + segment + "/z/../../../T")) == "(ambiguous)");
        CHECK(names({any}, request("/A/B" + segment + "/../../T")) == "(ambiguous)");
        CHECK(names({api}, request("/other" + segment + "/../../api/T")) == "(ambiguous)");
        // Here it climbs out of another segment, which everybody finds.
        CHECK(names({api}, request("/api/A" + segment + "/z/../w")) == "api/A");
    }
    const std::string target = "/api/A/x%2Fy/../T";
    RoutingSettings settings;
    settings.routes = {api};
    CHECK(Routed(*compile(settings), request(target)).result.explanation ==
          "The path climbs out of a segment that can be read in several ways.");
    auto allowing = api;
    allowing.allow_ambiguous_path = true;
    CHECK(names({allowing}, request(target)) == "api/A");
}

TEST_CASE("doubts of several kinds pass where no reading of them can lead elsewhere") {
    const std::vector<RouteSettings> all{route("/all/**", {"all"})};
    for (const auto* rest : {"C:%5Cdir%2Ffile", "%0A%5C", "a%09b%5Cc", "a%2Fb\\c/d"}) {
        CAPTURE(rest);
        CHECK(names(all, request("/all/"s + rest)) == "all");
        CHECK(names(all, request("/other/"s + rest)) == "(unrouted)");
        CHECK(names({route("/**", {"root"})}, request("/"s + rest)) == "root");
        CHECK(names(all, request("/"s + rest)) == "(ambiguous)");  // it may begin with "all"
        CHECK(names({route("/all/{x}", {"x"}), all[0]}, request("/all/"s + rest)) == "(ambiguous)");
        CHECK(names({route("/all/a/b/c", {"c"}), all[0]}, request("/all/"s + rest)) ==
              "(ambiguous)");
        // These routes take no reading of it: another beginning, method, host or field.
        auto put = route("/all/{x}", {"put"});
        put.match.methods = {"PUT"};
        auto host = route("/all/{x}", {"host"});
        host.match.hosts = {"other.example"};
        auto gold = route("/all/{x}", {"gold"});
        gold.match.headers = {{"X-Plan", true, "gold"}};
        CHECK(names({route("/a/**", {"a"}), put, host, gold, all[0]}, request("/all/"s + rest)) ==
              "all");
    }
    CHECK(names({route("/all/a/{x}", {"x"}), all[0]}, request("/all/b/a%2Fb\\c/d")) == "all");
    // So many routes are not looked at for each of such requests.
    std::vector<RouteSettings> many(1000, route("/a/**", {"a"}));
    many.push_back(all[0]);
    CHECK(names(many, request("/all/%0A%5C")) == "all");
    many.insert(many.begin(), many[0]);
    CHECK(names(many, request("/all/%0A%5C")) == "(ambiguous)");
    // A ".." that climbs out of a doubt, and one that only some readings have, stay refused.
    CHECK(names(all, request("/all/a%2Fb\\c/../d")) == "(ambiguous)");
    CHECK(names(all, request("/all/a%2F..\\c")) == "(ambiguous)");
}

/// Whether the path that a reader has made of a target leads to these quotas, or is itself refused.
bool leads_to(const std::string& expected, const std::vector<RouteSettings>& routes,
              const std::string& target) {
    const auto found = names(routes, request(target));
    return found == expected || found == "(ambiguous)";
}

/// A part of a path. Parts with a doubt (`kind` is a bit) are a piece of their segment for some
/// readers and `read` for others; a reader treats all doubts of one kind alike.
struct PartOfPath {
    std::string written;
    unsigned kind = 0;
    std::string piece = {};
    std::string read = {};
};

TEST_CASE("each reading of each short path that passes leads to the same quotas") {
    const std::vector<std::vector<RouteSettings>> tables{
        {route("/api/{tenant}/admin", {"admin/{tenant}"}),
         route("/api/{tenant}/**", {"api/{tenant}"}), route("/{kind}/{name}", {"{kind}/{name}"})},
        {route("/api/{x}/b", {"q"}), route("/**", {"all"})},
        {route("/api/t/b", {"q"}), route("/api/{y}/**", {"r/{y}"})},
        {route("/api/**", {"y"})}};
    // Pieces of segments are written as bytes that nobody doubts.
    const std::vector<PartOfPath> parts{{"/api"},
                                        {"/t"},
                                        {"/.."},
                                        {"/"},
                                        {"b"},
                                        {"/admin"},
                                        {"%2F", 1, "%E2", "/"},
                                        {"\\", 2, "%E5", "/"},
                                        {"%5C", 4, "%E5", "/"},
                                        {"%0A", 8, "%E0", ""}};
    int passed = 0;
    const auto look = [&](const std::vector<RouteSettings>& routes,
                          const std::vector<std::size_t>& chosen) {
        std::string target;
        unsigned kinds = 0;
        for (const std::size_t i : chosen) {
            target += parts[i].written;
            kinds |= parts[i].kind;
        }
        if (kinds == 0 || !target.starts_with('/')) {
            return;
        }
        const auto found = names(routes, request(target));
        if (found == "(ambiguous)") {
            return;
        }
        ++passed;
        for (unsigned reader = 0; reader < 16; ++reader) {
            std::string reading;
            for (const std::size_t i : chosen) {
                const PartOfPath& part = parts[i];
                reading += part.kind == 0              ? part.written
                           : (part.kind & reader) != 0 ? part.read
                                                       : part.piece;
            }
            CAPTURE(target);
            CAPTURE(reading);
            CHECK(leads_to(found, routes, reading));
        }
    };
    const std::size_t count = parts.size();
    for (const auto& routes : tables) {
        for (std::size_t number = 0; number < count * count * count * count; ++number) {
            look(routes, {number % count, number / count % count, number / count / count % count,
                          number / count / count / count});
        }
    }
    CHECK(passed > 1000);
}

TEST_CASE("both readings of a path that passes lead to the same quotas") {
    const std::vector<RouteSettings> routes{route("/api/{tenant}/admin", {"admin/{tenant}"}),
                                            route("/api/{tenant}/**", {"api/{tenant}"}),
                                            route("/{kind}/{name}", {"{kind}/{name}"})};
    const std::vector<std::string> parts{"/api", "/t",    "/admin", "/a", "/..", "/../..",
                                         "/.",   "doubt", "/doubt", "/",  "b"};
    // Each doubt, and what those read who do not take it for a part of its segment.
    const std::vector<std::pair<std::string, std::string>> doubts{
        {"%2F", "/"}, {"\\", "/"}, {"%5C", "/"}, {"%0A", ""}};
    CHECK(rc::check("same names", [&] {
        const auto chosen =
            *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts));
        const auto [written, read] = *rc::gen::elementOf(doubts);
        std::string target = "/";
        std::string other = "/";
        for (const auto& part : chosen) {
            const auto at = part.find("doubt");
            target += part.substr(0, at) + (at == std::string::npos ? "" : written);
            other += part.substr(0, at) + (at == std::string::npos ? "" : read);
        }
        const auto found = names(routes, request(target));
        RC_ASSERT(found == "(ambiguous)" || found == names(routes, request(other)));
    }));
}

TEST_CASE("weights") {
    auto weighed = route("/**", {"q"});
    const auto result = [&](const std::string& text, bool trusted = false) {
        RoutingSettings settings;
        settings.max_weight = 1000;
        settings.routes = {weighed};
        return Routed(*compile(settings), text, trusted).result;
    };
    weighed.weight.constant = 2.5;
    CHECK(result(request("/")).weight == 2.5);
    weighed.weight = {WeightSource::table, 1, {{"GET", 7}}, ""};
    CHECK(result(request("/")).weight == 7);
    CHECK(result(request("/", "PUT")).weight == 1);
    weighed.weight = {WeightSource::header, 1, {}, "X-Cost"};
    const auto cost = [](const std::string& value) {
        return request("/", "GET", "a", "x-cost: " + value + "\r\n");
    };
    CHECK(result(cost("5.5"), true).weight == 5.5);
    CHECK(result(cost("5.5"), false).weight == 1);
    CHECK(result(cost("99999"), true).weight == 1000);
    CHECK(result(cost("0"), true).weight == 0);
    for (const auto* bad : {"-1", "nan", "inf", "1e400", "", "5x", "0x5", "+5", "5 5"}) {
        CAPTURE(bad);
        CHECK(result(cost(bad), true).weight == 1);
        CHECK(result(cost(bad), true).weight_invalid);
        CHECK_FALSE(result(cost(bad), false).weight_invalid);
    }
    const auto twice = request("/", "GET", "a", "x-cost: 2\r\nX-Cost: 3\r\n");
    CHECK(result(twice, true).weight == 1);
    CHECK(result(twice, true).weight_invalid);
    CHECK(result(cost("99999"), true).weight_clamped);
    CHECK_FALSE(result(cost("5.5"), true).weight_clamped);
    CHECK_FALSE(result(request("/"), true).weight_invalid);
    CHECK(result(request("/"), true).weight == 1);
    weighed.weight = {WeightSource::request_bytes, 1, {}, ""};
    CHECK(result(request("/")).weight_is_request_bytes);
}

TEST_CASE("free statuses of a route, or of all") {
    auto own = route("/own/**", {"q"});
    own.refund = std::vector<StatusRange>{{304, 304}, {500, 599}};
    auto none = route("/none/**", {"q"});
    none.refund.emplace();
    RoutingSettings settings;
    settings.refund = {{404, 404}};
    settings.routes = {own, none, route("/**", {"q"})};
    const auto router = compile(settings);
    const auto refunds = [&](const std::string& path, unsigned status) {
        return router->refunds(Routed(*router, request(path)).result.route, status);
    };
    CHECK(refunds("/own/x", 304));
    CHECK(refunds("/own/x", 599));
    CHECK_FALSE(refunds("/own/x", 404));
    CHECK_FALSE(refunds("/none/x", 404));
    CHECK(refunds("/x", 404));
    CHECK_FALSE(refunds("/x", 500));
    CHECK_FALSE(router->refunds(3, 404));
}

TEST_CASE("request bytes are known before the body, or not") {
    const std::vector<RouteSettings> routes{route("/**", {"q"})};
    RoutingSettings settings;
    settings.routes = routes;
    const auto router = compile(settings);
    const auto bytes = [&](const std::string& lines) {
        return Routed(*router, request("/", "PUT", "a", lines)).result.request_bytes;
    };
    CHECK(bytes("") == 0U);
    CHECK(bytes("Content-Length: 77\r\n") == 77U);
    CHECK_FALSE(bytes("Transfer-Encoding: chunked\r\n").has_value());
}

TEST_CASE("several lists: each has its names in order, and none if its captures are empty") {
    auto several = route("/{user}/{space}", {});
    several.lists = {{"user/{user}", "anonymous"}, {"space/{space}"}, {"all"}};
    auto first = several;
    first.match.path = "/{user}";
    first.lists = {{"one/{user}"}};
    CHECK(names({several, first}, request("/u1/w1")) == "user/u1, anonymous + space/w1 + all");
    CHECK(names({several, first}, request("/u1")) == "one/u1");
    RouteSettings s3;
    s3.preset = "s3";
    s3.lists = {{"all"}, {"bucket/{bucket}"}, {"s3", "{bucket}"}};
    CHECK(names({s3}, request("/")) == "all +  + s3");
    CHECK(names({s3}, request("/b1/k")) == "all + bucket/b1 + s3, b1");
}

TEST_CASE("a scratch can be used for one request after another") {
    RoutingSettings settings;
    settings.routes = {route("/{a}/{b}", {"x/{a}/{b}", "x/{a}"}), route("/{a}", {"y/{a}"})};
    const auto router = compile(settings);
    Scratch scratch;
    for (const auto* expected : {"x/1/2", "y/3"}) {
        const bool two = expected[0] == 'x';
        const auto text = request(two ? "/1/2" : "/3");
        http::RequestHead head;
        REQUIRE(head.parse(text, {}) == http::ParseState::complete);
        const auto result = router->route(head, {}, scratch);
        CHECK(result.names.size() == (two ? 2 : 1));
        CHECK(result.names[0] == expected);
    }
}

}  // namespace
}  // namespace weir::routing
