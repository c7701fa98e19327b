#include "routing/pattern.h"

#include <doctest/doctest.h>

namespace weir::routing {
namespace {

bool path_matches(std::string_view pattern, std::string_view raw, Captures* captures = nullptr) {
    CaptureNames names;
    auto compiled = compile_path(pattern, names);
    REQUIRE(std::holds_alternative<PathPattern>(compiled));
    static NormalPath path;
    path.build(raw, {});
    Captures own;
    return std::get<PathPattern>(compiled).match(path, captures != nullptr ? *captures : own);
}

bool host_matches(std::string_view pattern, std::string_view host) {
    CaptureNames names;
    auto compiled = compile_host(pattern, names);
    REQUIRE(std::holds_alternative<HostPattern>(compiled));
    Captures captures;
    return std::get<HostPattern>(compiled).match(host, captures);
}

std::size_t error_column(std::string_view pattern) {
    CaptureNames names;
    auto compiled = compile_path(pattern, names);
    const auto* failure = std::get_if<PatternError>(&compiled);
    return failure != nullptr ? failure->column : 0;
}

TEST_CASE("paths match by segments") {
    CHECK(path_matches("/", "/"));
    CHECK_FALSE(path_matches("/", "/a"));
    CHECK(path_matches("/**", "/"));
    CHECK(path_matches("/**", "/a/b"));
    CHECK(path_matches("/api/*/x", "/api/1/x"));
    CHECK_FALSE(path_matches("/api/*/x", "/api//x"));
    CHECK_FALSE(path_matches("/api/*", "/api"));
    CHECK(path_matches("/api/**", "/api"));
    CHECK(path_matches("/api", "/api/"));
    CHECK_FALSE(path_matches("/api", "/API"));
    CHECK(path_matches("/img/*.png", "/img/a.png"));
    CHECK_FALSE(path_matches("/img/*.png", "/img/.png"));
    CHECK(path_matches("/a%20b", "/a b"));
    CHECK(path_matches("/a%20b", "/a%20b"));
    Captures captures;
    CHECK(path_matches("/v{version}/{tenant}/**", "/v2/t%2F1/x/y", &captures));
    CHECK(captures[0] == "2");
    CHECK(captures[1] == "t/1");
}

TEST_CASE("hosts match by labels") {
    CHECK(host_matches("a.example", "a.example"));
    CHECK(host_matches("A.Example", "a.example"));
    CHECK(host_matches("*.example", "a.example"));
    CHECK_FALSE(host_matches("*.example", "a.b.example"));
    CHECK_FALSE(host_matches("*.example", "example"));
    CHECK(host_matches("**.example", "a.b.example"));
    CHECK_FALSE(host_matches("**.example", "example"));
    CHECK(host_matches("{shop}.example", "s1.example"));
    CHECK_FALSE(host_matches("a.example", "x.a.example"));
    CHECK_FALSE(host_matches("a.example", ""));
}

TEST_CASE("errors name their column") {
    CHECK(error_column("api") == 1);
    CHECK(error_column("/a/{x") == 4);
    CHECK(error_column("/a/x}") == 5);
    CHECK(error_column("/a/{}") == 4);
    CHECK(error_column("/{a}/{a}") == 6);
    CHECK(error_column("/{a}{b}") == 5);
    CHECK(error_column("/a**") == 3);
    CHECK(error_column("/**/a") == 2);
    CHECK(error_column("/a?b") == 3);
    CHECK(error_column("/a/../b") == 4);
    CHECK(error_column("/a//b") == 4);
    CHECK(error_column("/a%2") == 3);
    CHECK(error_column("/{a b}") == 2);
    CHECK(error_column("/{a}/*/**") == 0);
    CaptureNames names;
    for (const auto* host : {"", "a..b", "a:80", "http://a", "a.**", ".a", "a."}) {
        CAPTURE(host);
        CHECK(std::holds_alternative<PatternError>(compile_host(host, names)));
    }
    const auto twice = compile_host("{a}.{a}.test", names);
    REQUIRE(std::holds_alternative<PatternError>(twice));
    CHECK(std::get<PatternError>(twice).column == 5);
}

}  // namespace
}  // namespace weir::routing
