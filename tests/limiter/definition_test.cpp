#include "limiter/definition.h"

#include <doctest/doctest.h>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

TEST_CASE("names of enums") {
    CHECK(to_string(Unit::request_bytes) == "request_bytes");
    CHECK(kLawWords[static_cast<std::size_t>(Law::adaptive)] == "adaptive");
    CHECK(to_string(Mode::shadow) == "shadow");
    CHECK(kScopeWords[static_cast<std::size_t>(Scope::sidecar)] == "sidecar");
    CHECK(is_template("a/{b}"));
    CHECK_FALSE(is_template("a/b"));
}

TEST_CASE("edits of a parent: children object to a deeper chain and to its end, not to amounts") {
    std::vector<QuotaDefinition> set{quota("p", {per_second(10)}), quota("p/c", {}, "p"),
                                     quota("t/{x}", {}), quota("t/{x}/y", {}, "t/{x}")};
    Fixture fixture(set);
    REQUIRE(fixture.errors.empty());
    CHECK(fixture.put(quota("p", {per_second(20)})).empty());
    CHECK(!fixture.put(quota("p", {per_second(20)}, "p/c")).empty());
    CHECK(!fixture.take_away("p").empty());
    CHECK(!fixture.take_away("t/{x}").empty());
    CHECK(fixture.take_away("t/{x}/y").empty());
    CHECK(fixture.take_away("t/{x}").empty());
    // The child finds another parent: then this one may go.
    CHECK(fixture.put(quota("p/c", {})).empty());
    CHECK(fixture.take_away("p").empty());
    // And a set that is applied again counts anew.
    CHECK(fixture.replace(set).empty());
    CHECK(!fixture.take_away("p").empty());
    set.erase(set.begin() + 1);
    CHECK(fixture.replace(set).empty());
    CHECK(fixture.take_away("p").empty());
}
