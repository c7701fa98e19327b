// Routes that are given as flags, and those of a file whose place they take.

#include "config/flag_routes.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/helpers.h"
#include "config/load_settings.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::lines;

const std::string kFile =
    "upstream: http://127.0.0.1:3000\n"
    "routes: [{match: {path: /of/file}, quota: of-file}]\n";

struct Read {
    Settings settings;
    Lines errors;
};

Read read(const std::vector<std::string>& texts) {
    std::vector<Override> overrides;
    for (const std::string& text : texts) {
        overrides.push_back({std::string(kRoutesKey), std::string(kRouteFlag), text});
    }
    Diagnostics diagnostics;
    Read done;
    done.settings = load_settings(SourceText{"weir.yaml", kFile}, overrides, diagnostics);
    done.errors = lines(diagnostics);
    return done;
}

TEST_CASE("routes of flags take the place of the file's, in their order") {
    const Read done = read({"/{tenant}/**=shop/{tenant},shop\n/health=all"});
    REQUIRE(done.errors == Lines{});
    const auto& routes = done.settings.routing.routes;
    REQUIRE(routes.size() == 2);
    CHECK(routes[0].match.path == "/{tenant}/**");
    CHECK(routes[0].quotas == std::vector<std::string>{"shop/{tenant}", "shop"});
    CHECK(routes[1].match.path == "/health");
    CHECK(routes[1].quotas == std::vector<std::string>{"all"});
    CHECK(done.settings.given.back() ==
          GivenSetting{"routes",
                       R"([{"match":{"path":"/{tenant}/**"},"quota":["shop/{tenant}","shop"]},)"
                       R"({"match":{"path":"/health"},"quota":["all"]}])",
                       "--route"});
}

TEST_CASE("a later source of routes wins as a whole") {
    const Read done = read({"/a=one\n/b=two", "/c=three"});
    CHECK(done.errors == Lines{});
    REQUIRE(done.settings.routing.routes.size() == 1);
    CHECK(done.settings.routing.routes[0].match.path == "/c");
}

TEST_CASE("without such a flag the file's routes stay") {
    const Read done = read({});
    REQUIRE(done.settings.routing.routes.size() == 1);
    CHECK(done.settings.routing.routes[0].match.path == "/of/file");
}

TEST_CASE("only the first equals sign separates") {
    CHECK(read({"/a=user=1"}).settings.routing.routes[0].quotas ==
          std::vector<std::string>{"user=1"});
}

TEST_CASE("a route of a flag that is none is an error that shows one") {
    for (const char* text : {"/a", "=all", "/a=", "shop", ""}) {
        CHECK(read({text}).errors ==
              Lines{"--route: '" + std::string(text) +
                    "' must be a path pattern, '=' and the name of a quota, like "
                    "'/{tenant}/**=shop/{tenant}'"});
    }
}

TEST_CASE("routes of flags are checked like those of a file") {
    const Lines errors = read({"/a=b\n/{tenant}/**=shop/{tenat}"}).errors;
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].starts_with("--route: routes[1].quota[0]: "));
    CHECK(errors[0].find("did you mean") != std::string::npos);
}

}  // namespace
}  // namespace weir::config
