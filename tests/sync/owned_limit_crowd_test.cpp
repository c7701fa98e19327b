// A crowd that comes to a hard edge at many origins at once, each of which admits a burst before it
// can know of the others. `5r/m`: room for 5 requests, and a debt of three more.
#include <doctest/doctest.h>

#include <map>

#include "owned_fixture.h"
#include "sync/reckoning.h"

namespace weir::sync {
namespace {

struct Fixture : test::OwnedFixture {
    Fixture() {
        limit.parameters = limiter::LimitParameters{5.0 / 60, 5, 5, -1, limiter::Law::adaptive};
        now += 5s;
    }
    /// The origin admits so much more and tells it at once.
    void admit(MemberNumber from, double weight, double typical = 1) {
        double& sum = admitted[from];
        sum += weight;
        DeltaEntry entry = delta(sum, sum, 0);
        entry.typical = typical;
        CHECK(receive(from, entry) == DeltaOutcome::counted);
    }
    /// Origins 1 to `origins` fill the edge, one after the other.
    void fill_at(MemberNumber origins) {
        for (MemberNumber from = 1; from <= origins; ++from) {
            admit(from, 5);
        }
    }
    std::map<MemberNumber, double> admitted;
};

TEST_CASE_FIXTURE(Fixture, "a crowd on 5r/m over five origins is paid back whole") {
    SUBCASE("told burst by burst") { fill_at(5); }
    SUBCASE("told request by request") {
        for (int request = 0; request < 5; ++request) {
            for (MemberNumber from = 1; from <= 5; ++from) {
                admit(from, 1);
            }
        }
    }
    SUBCASE("told request by request, one origin after the other") {
        for (MemberNumber request = 0; request < 25; ++request) {
            admit(1 + request / 5, 1);
        }
    }
    CHECK(limit.bucket.level == doctest::Approx(25));
    CHECK(statistics.ceiling_hits == 0);
    CHECK(limit.total(settings, nullptr, 0, now).heaviest == doctest::Approx(20));
    // Five minutes' worth was admitted: so long it takes until nothing of it is left.
    now += 4min;
    limit.advance(now);
    CHECK(limit.bucket.level == doctest::Approx(5));
    CHECK(limit.bucket.probability(*limit.parameters) == 1);
    now += 1min;
    limit.advance(now);
    CHECK(limit.bucket.level == doctest::Approx(0));
    CHECK(limit.bucket.probability(*limit.parameters) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a larger crowd is paid back as far as others believe such a level") {
    fill_at(7);
    const double most = limit.parameters->high + largest_crowd(*limit.parameters);
    CHECK(limit.bucket.level == doctest::Approx(most));
    CHECK(statistics.ceiling_hits == 1);
    const TotalEntry total = limit.total(settings, nullptr, 0, now);
    CHECK(level_can_be(*limit.parameters, total.level, limit.bucket.typical, total.heaviest));
}

TEST_CASE_FIXTURE(Fixture, "who fills the edge again before it was half empty makes no more room") {
    fill_at(3);
    CHECK(limit.bucket.level == doctest::Approx(15));
    admit(1, 5);
    admit(2, 1);
    CHECK(limit.bucket.level == doctest::Approx(15));
    CHECK(statistics.ceiling_hits == 2);
    // Others, who have not filled it yet, still do.
    admit(4, 5);
    CHECK(limit.bucket.level == doctest::Approx(20));
}

TEST_CASE("once the edge was half empty, each origin may fill it again") {
    const auto filled_again = [](double left) {
        Fixture fixture;
        fixture.fill_at(3);
        fixture.now += 3min;
        fixture.limit.advance(fixture.now);
        REQUIRE(fixture.limit.bucket.level == doctest::Approx(0));
        REQUIRE(fixture.limit.bucket.heaviest == 0);
        fixture.limit.bucket.level = left;
        fixture.fill_at(2);
        return fixture.limit.bucket.level;
    };
    CHECK(filled_again(0) == doctest::Approx(10));
    CHECK(filled_again(2.5) == doctest::Approx(12.5));
    CHECK(filled_again(2.6) == doctest::Approx(8));  // no more than the debt
}

TEST_CASE("only an edge whose debt nobody set makes room for a crowd") {
    const auto level_after_crowd = [](double high, double debt) {
        Fixture fixture;
        fixture.limit.parameters->high = high;
        fixture.limit.parameters->debt = debt;
        fixture.fill_at(5);
        return fixture.limit.bucket.level;
    };
    CHECK(level_after_crowd(5, -1) == doctest::Approx(25));
    CHECK(level_after_crowd(5, 0) == doctest::Approx(5));
    CHECK(level_after_crowd(5, 2) == doctest::Approx(7));
    // Between low and high it sheds before the origins could fill it.
    CHECK(level_after_crowd(10, -1) == doctest::Approx(13));
    CHECK(level_after_crowd(10, 0) == doctest::Approx(10));
}

TEST_CASE_FIXTURE(Fixture, "what the debt has room for is no crowd") {
    admit(1, 5);
    admit(2, 3);
    CHECK(limit.bucket.level == doctest::Approx(8));
    CHECK(limit.bucket.heaviest == 0);
    admit(3, 1);
    CHECK(limit.bucket.level == doctest::Approx(9));
    CHECK(limit.bucket.heaviest == doctest::Approx(4));
}

TEST_CASE_FIXTURE(Fixture, "an origin alone is no crowd: its debt ends with its heavy requests") {
    limit.parameters = limiter::LimitParameters{1, 60, 60, -1, limiter::Law::adaptive};
    admit(1, 90, 10);
    CHECK(limit.bucket.level == doctest::Approx(90));  // three requests of 10 above the edge
    admit(1, 0, 1);
    CHECK(limit.bucket.level == doctest::Approx(63));
    CHECK(limit.bucket.heaviest == 0);
}

}  // namespace
}  // namespace weir::sync
