// Which conditions of routes are found to be meant otherwise.
#include "node/match_findings.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace weir::node {
namespace {

std::string meant_by_path(std::string path) {
    routing::RouteSettings route;
    route.match.path = std::move(path);
    const auto found = odd_conditions({route});
    return found.empty() ? "" : found[0].suggestion;
}

std::string meant_by_method(std::string method) {
    routing::RouteSettings route;
    route.match.methods = {"GET", std::move(method)};
    const auto found = odd_conditions({route});
    return found.empty() ? "" : found[0].suggestion;
}

TEST_CASE("a method that is nearly one of HTTP's is told with its place") {
    routing::RouteSettings route;
    route.match.methods = {"GET", "GTE"};
    CHECK(odd_conditions({{}, route}) ==
          std::vector{MatchFinding{"routes[1].match.methods[1]",
                                   "'GTE' is no method that HTTP knows", "GET"}});
    CHECK(meant_by_method("get") == "GET");
    CHECK(meant_by_method("Post") == "POST");
    CHECK(meant_by_method("DELTE") == "DELETE");
}

TEST_CASE("methods that are known, and those of nobody but the service, are left alone") {
    for (const char* method : {"PURGE", "PROPFIND", "QUERY", "M-SEARCH", "FETCH", "PUSH", "LIST"}) {
        CAPTURE(method);
        CHECK(meant_by_method(method).empty());
    }
}

TEST_CASE("parameters of other programs are captures here") {
    CHECK(meant_by_path("/api/:tenant/x") == "/api/{tenant}/x");
    CHECK(meant_by_path("/api/<tenant>") == "/api/{tenant}");
    CHECK(meant_by_path("/api/<int:number>/") == "/api/{number}/");
    CHECK(meant_by_path("/[user]/:space/**") == "/{user}/{space}/**");
}

TEST_CASE("a regular expression is told to be none") {
    for (const char* path : {"/api/(.*)", "/api/.*", "/api/[a-z]x", "/api/x$", "/v[0-9]/x",
                             "/users/[0-9]", "/users/\\d+", "/x/[a-z]", "/users/\\w+/x",
                             "/users/(a|b)/x", "/(?:a|b)/x", "/a/([^/])", "/a/.+"}) {
        CAPTURE(path);
        CHECK(meant_by_path(path).find("'**' at the end") != std::string::npos);
    }
}

TEST_CASE("paths that are what they seem are left alone") {
    for (const char* path :
         {"", "/**", "/api/{tenant}/**", "/files/*.jpg", "/v1/books:batch", "/Products(1)",
          "/file.*", "/%3Atenant", "/%2E*", "/a.b/c", "/:", "/$metadata", "/.well-known/*"}) {
        CAPTURE(path);
        CHECK(meant_by_path(path).empty());
    }
}

}  // namespace
}  // namespace weir::node
