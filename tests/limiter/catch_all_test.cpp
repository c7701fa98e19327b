// Names that fall under a catch-all such as "{rest**}", in the limiter.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

TEST_CASE("a catch-all limits what no other quota does, each name by itself") {
    Fixture fixture({quota("s3", {per_second(10'000)}),
                     quota("s3/{bucket}", {per_second(1000)}, "s3"),
                     quota("s3/{bucket}/write", {per_minute(5)}, "s3/{bucket}"),
                     quota("{rest**}", {borders(2, 2, 2)}),
                     quota("s3/{bucket}/{rest**}", {borders(3, 3, 3)}, "s3/{bucket}")});
    REQUIRE(fixture.errors.empty());
    const auto refused_by = [&fixture](std::string_view name) {
        for (int i = 0; i < 10; ++i) {
            if (const Decision decision = fixture.check(name); !decision.admitted) {
                return std::to_string(i) + " " + std::string(decision.quota);
            }
        }
        return std::string("10");
    };
    CHECK(refused_by("web/a/b/c") == "2 web/a/b/c");
    CHECK(refused_by("web/a/b/d") == "2 web/a/b/d");
    CHECK(refused_by("s3/b1/write") == "5 s3/b1/write");
    CHECK(refused_by("s3/b1/log/a") == "3 s3/b1/log/a");
    CHECK(fixture.level("s3/b1") == doctest::Approx(8));
    // A template that comes takes the names that it matches, and gives them back when it goes.
    REQUIRE(fixture.put(quota("web/{a}/{b}/{c}", {borders(5, 5, 5)})).empty());
    fixture.wait(10);
    CHECK(refused_by("web/a/b/c") == "5 web/a/b/c");
    REQUIRE(fixture.take_away("web/{a}/{b}/{c}").empty());
    fixture.wait(10);
    CHECK(refused_by("web/a/b/c") == "2 web/a/b/c");
    REQUIRE(fixture.take_away("{rest**}").empty());
    CHECK_FALSE(fixture.find("web/a/b/c"));
}

TEST_CASE("in a list a name that only a catch-all fits counts after all others") {
    Fixture fixture({quota("s3", {per_second(1000)}), quota("s3/{bucket}", {per_second(10)}, "s3"),
                     quota("{rest**}", {per_second(10)})});
    REQUIRE(fixture.errors.empty());
    const auto found = [&fixture](const std::vector<std::string_view>& names) {
        Leaves leaves;
        auto& limiter = fixture.limiter;
        const bool any = limiter.find_first(fixture.thread, limiter.ask(fixture.thread, names[0]),
                                            names, fixture.now, leaves);
        CHECK(any == !leaves.empty());
        const Decision decision =
            limiter.check(fixture.thread, leaves, {}, fixture.now, CheckMode::charge);
        const std::string name(limiter.quota_name(decision));
        limiter.quiescent(fixture.thread);
        return name;
    };
    // Twice, because the first time some of them have no instance yet.
    for (int i = 0; i < 2; ++i) {
        CHECK(found({"s3/b/write", "s3/b", "s3"}) == "s3/b");
        CHECK(found({"s3/b/write", "other/b", "s3"}) == "s3");
        CHECK(found({"web/a/b", "other/a"}) == "web/a/b");
        CHECK(found({"web/a/b"}) == "web/a/b");
    }
    // What the list did not use has no instance.
    CHECK(fixture.limiter.inspect("other/b", fixture.now).empty());
    CHECK(fixture.limiter.inspect("s3/b/write", fixture.now).empty());
    REQUIRE(fixture.take_away("{rest**}").empty());
    CHECK(found({"s3/b/write", "s3/b", "s3"}) == "s3/b");
    CHECK(found({"web/a/b", "other/a"}).empty());
}
