// Which idle instance goes when room is wanted, with which ancestors, and which stay.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

/// "w/x1" is below the overflow instance of "m/x{k}", and that below "t/x", which was an exact name
/// and is an instance of "t/{k}" now. None of the three has another child.
struct BelowOverflow : Fixture {
    explicit BelowOverflow(const LimiterOptions& options, std::uint32_t most_tops = 0)
        : Fixture(definitions(most_tops), options) {
        REQUIRE(admits("w/x1"));
        REQUIRE(admits("m/x2"));
        overflow = find("m/x3");  // there is no room for it, and then none for "m/x1"
        REQUIRE(overflow.overflow_depth == 1);
        REQUIRE(put(quota("w/{k}", {per_minute(20)}, "m/{k}")).empty());
        REQUIRE(put(quota("m/x2", {per_minute(50)})).empty());
        REQUIRE(take_away("t/x").empty());
        wait(3600);  // all are idle and empty
    }
    static std::vector<QuotaDefinition> definitions(std::uint32_t most_tops) {
        QuotaDefinition top = quota("t/{k}", {per_minute(1000)});
        top.max_instances = most_tops;
        QuotaDefinition middle = quota("m/x{k}", {per_minute(50)}, "t/x");
        middle.max_instances = 1;
        return {top, quota("t/x", {per_minute(1000)}), quota("m/{k}", {per_minute(50)}, "t/{k}"),
                middle, quota("w/{k}", {per_minute(20)})};
    }
    /// Whether a name without room uses the same instances as ever, and "t/x" is charged.
    bool overflow_serves() {
        REQUIRE(find("m/x4").overflow_depth == 0);
        const double above = level("t/x");
        return find("m/x3") == overflow && admits("m/x3") &&
               level("t/x") == doctest::Approx(above + 1);
    }
    LeafId overflow;
};

}  // namespace

TEST_CASE("a branch is judged by its fullest and its last used instance, and goes whole or not") {
    const RateLimit slow = borders(1e-3, 100, 200);
    QuotaDefinition top = quota("s3/{k}", {slow});
    top.max_instances = 2;
    Fixture fixture(
        {top, quota("s3/{k}/write", {slow}, "s3/{k}"), quota("s3/{k}/read", {slow}, "s3/{k}")});
    REQUIRE(fixture.admits("s3/1/write"));
    fixture.wait(1);
    REQUIRE(fixture.admits("s3/2/write"));
    fixture.wait(1);
    const auto goes = [&](const std::string& gone, const std::string& kept) {
        CHECK(fixture.find("s3/new/write").overflow_depth == 0);
        CHECK(fixture.limiter.counters().replaced == 2);
        CHECK(fixture.level(gone) == -1);
        CHECK(fixture.level(gone + "/write") == -1);
        CHECK(fixture.level(kept) >= 0);
        CHECK(fixture.level(kept + "/write") >= 0);
    };
    const auto none_goes = [&] {
        CHECK(fixture.find("s3/new/write").overflow_depth == 2);
        CHECK(fixture.limiter.counters().replaced == 0);
    };
    SUBCASE("the emptier one goes") {
        REQUIRE(fixture.admits("s3/1/write", 10));
        fixture.wait(3);
        goes("s3/2", "s3/1");
    }
    SUBCASE("the emptier one goes, which is not that with the emptier leaf") {
        REQUIRE(fixture.admits("s3/1", 30));
        REQUIRE(fixture.admits("s3/2/write", 10));
        fixture.wait(3);
        goes("s3/2", "s3/1");
    }
    SUBCASE("when both are empty, the longer idle one goes, which is not that of the older leaf") {
        REQUIRE(fixture.admits("s3/1"));
        fixture.wait(5000);
        goes("s3/2", "s3/1");
    }
    SUBCASE("whose parent is in use stays") {
        REQUIRE(fixture.admits("s3/2/write", 10));
        fixture.wait(3);
        REQUIRE(fixture.admits("s3/1"));
        goes("s3/2", "s3/1");
    }
    SUBCASE("whose parent is above half stays") {
        REQUIRE(fixture.admits("s3/1", 60));
        REQUIRE(fixture.admits("s3/2", 60));
        fixture.wait(3);
        none_goes();
    }
    SUBCASE("whose parent has another child stays") {
        REQUIRE(fixture.admits("s3/1/read"));
        REQUIRE(fixture.admits("s3/2/read"));
        fixture.wait(5000);
        none_goes();
    }
}

TEST_CASE("an overflow instance stays when the idle branch that it is part of would go") {
    BelowOverflow fixture(Fixture::small(), 1);
    // A place of "t/{k}" is wanted, and "t/x" has the only one, with "w/x1" two levels below.
    CHECK(fixture.find("w/9").overflow_depth == 3);
    CHECK(fixture.limiter.counters().replaced == 0);
    CHECK(fixture.level("w/x1") == 0);
    CHECK(fixture.overflow_serves());
    SUBCASE("the leaf below it may go alone") {
        QuotaDefinition leaf = quota("w/{k}", {per_minute(20)}, "m/{k}");
        leaf.max_instances = 1;
        REQUIRE(fixture.put(leaf).empty());
        CHECK(fixture.find("w/x2").overflow_depth == 0);
        CHECK(fixture.limiter.counters().replaced == 1);
        CHECK(fixture.level("w/x1") == -1);
        CHECK(fixture.overflow_serves());
    }
}

TEST_CASE("an overflow instance stays when the leaf below it makes room in a full table") {
    LimiterOptions options = Fixture::small();
    options.max_instances = 3;
    BelowOverflow fixture(options);
    REQUIRE(fixture.limiter.memory().instances == 3);
    // Three places are wanted. "w/x1" and "m/x2" give theirs, not what the first one is below.
    CHECK(fixture.find("w/9").overflow_depth == 3);
    CHECK(fixture.limiter.counters().replaced == 2);
    CHECK(fixture.level("w/x1") == -1);
    CHECK(fixture.overflow_serves());
}
