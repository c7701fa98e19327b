#include "definitions/rules.h"

#include <doctest/doctest.h>

#include <cmath>

#include "limiter/fixture.h"

using namespace weir;
using namespace weir::definitions;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {
/// The errors of one definition beside a good one.
std::vector<DefinitionError> errors_of(const QuotaDefinition& definition) {
    return validate(std::vector{quota("good", {per_second(1)}), definition}).listed();
}
void check_error(const std::vector<DefinitionError>& errors, std::string_view field,
                 std::string_view part) {
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].index == 1);
    CHECK(errors[0].field == field);
    CAPTURE(errors[0].message);
    CHECK(errors[0].message.find(part) != std::string::npos);
}
}  // namespace

TEST_CASE("a definition alone is held to the same rules of its modes and answers") {
    QuotaOptions options;
    std::vector<QuotaDefinition> wrong;
    const auto add = [&wrong]() -> QuotaDefinition& {
        wrong.push_back(quota("q", {per_second(10)}));
        return wrong.back();
    };
    options.refusal.body = std::string(kMaxRefusalBody + 1, 'x');
    add().options = options;
    options.refusal = {0, std::string(kMaxContentType + 1, 'x'), "x"};
    add().options = options;
    options.refusal = {600, "", std::nullopt};
    add().options = options;
    options.refusal = {0, "text/html", std::nullopt};
    add().options = options;
    options = {};
    options.hold = std::chrono::minutes(61);
    add().options = options;
    options = {};
    options.enforced_by = "a b";
    add().options = options;
    add().enforced_share = 2;
    add().mode = Mode::off;
    wrong.back().enforced_share = 0.5;
    add().limits[0].safe = 5;
    wrong.back().when_isolated = IsolationMode::pessimistic;
    add().limits[0].safe = 5;
    wrong.back().limits[0].scope = Scope::sidecar;
    for (const QuotaDefinition& each : wrong) {
        const auto alone = validate_alone(each);
        const auto together = validate(std::vector{each}).listed();
        REQUIRE(alone.size() == 1);
        REQUIRE(together.size() == 1);
        CHECK(alone[0].field == together[0].field);
        CHECK(alone[0].message == together[0].message);
        CHECK(alone[0].suggestion == together[0].suggestion);
    }
}

TEST_CASE("each thing that can be wrong is named with its place") {
    check_error(errors_of(quota("", {})), "name", "needs a name");
    check_error(errors_of(quota(std::string(513, 'x'), {})), "name", "longer than");
    check_error(errors_of(quota("a\nb", {})), "name", "control");
    check_error(errors_of(quota("a/{", {})), "name", "braces");
    check_error(errors_of(quota("good", {})), "name", "defined twice");
    check_error(errors_of(quota("q", {}, "")), "parent", "empty");
    check_error(errors_of(quota("q", {}, "q")), "parent", "own ancestor");
    check_error(errors_of(quota("q", {per_second(std::nan(""))})), "limits[0].rate", "amount");
    check_error(errors_of(quota("q", {per_second(-1)})), "limits[0].rate", "amount");
    RateLimit limit = per_second(10);
    limit.period = Duration(0);
    check_error(errors_of(quota("q", {limit})), "limits[0].rate", "period");
    check_error(errors_of(quota("q", {borders(10, 20, 10)})), "limits[0].high", "below low");
    check_error(errors_of(quota("q", {borders(10, 0, 10)})), "limits[0].low", "above 0");
    check_error(errors_of(quota("q", {per_second(1), per_second(2)})), "limits[1]", "same unit");
    limit = per_second(10);
    limit.debt = BurstSpec{BurstSpec::Kind::amount, INFINITY};
    check_error(errors_of(quota("q", {limit})), "limits[0].debt", "number");
    std::vector<RateLimit> many;
    for (int i = 1; i <= 9; ++i) {
        many.push_back(per_second(1));
        many.back().period = std::chrono::seconds(i);
    }
    check_error(errors_of(quota("q", many)), "limits", "more than 8");
}

TEST_CASE("a limit of requests in flight is a whole number, one in a quota, four in a chain") {
    const auto in_flight = RateLimit::in_flight;
    CHECK(errors_of(quota("q", {in_flight(64)})).empty());
    CHECK(errors_of(quota("q", {in_flight(0), per_second(1)})).empty());
    CHECK(errors_of(quota("q", {in_flight(kMostInFlight)})).empty());
    for (const double wrong : {-1.0, 1.5, kMostInFlight + 1, std::nan(""), double{INFINITY}}) {
        CAPTURE(wrong);
        check_error(errors_of(quota("q", {in_flight(wrong)})), "limits[0].concurrency", "whole");
    }
    RateLimit timed = in_flight(5);
    timed.period = std::chrono::seconds(1);
    check_error(errors_of(quota("q", {timed})), "limits[0].concurrency", "no time");
    RateLimit lasting = in_flight(5);
    lasting.scope = Scope::sidecar;
    check_error(errors_of(quota("q", {in_flight(5), lasting})), "limits[1]",
                "also a 'concurrency', as limits[0]");
    // A rate of requests with the same unit bounds something else.
    RateLimit rate = per_second(5);
    CHECK(errors_of(quota("q", {rate, in_flight(5)})).empty());

    std::vector<QuotaDefinition> chain{quota("q0", {in_flight(9)})};
    for (int i = 1; i < 4; ++i) {
        chain.push_back(quota("q" + std::to_string(i), {in_flight(9), per_second(1)},
                              "q" + std::to_string(i - 1)));
    }
    chain.push_back(quota("q4", {per_second(1)}, "q3"));
    CHECK(validate(chain).count() == 0);
    chain.back().limits.push_back(in_flight(9));
    const auto errors = validate(chain).listed();
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].quota == "q4");
    CHECK(errors[0].field == "limits");
    CHECK(errors[0].message == "more than 4 limits with 'concurrency' in a chain");
}

TEST_CASE("a window has bounds, and one in a quota has its unit and period") {
    using std::chrono::days;
    using std::chrono::hours;
    const auto hourly = RateLimit::in_window(64, Duration(hours(1)));
    const auto monthly = RateLimit::in_window(kMostInWindow, kMonth);
    CHECK(errors_of(quota("q", {hourly, monthly, per_second(1)})).empty());
    CHECK(errors_of(quota("q", {RateLimit::in_window(0, kLongestWindow)})).empty());
    CHECK(errors_of(quota("q", {RateLimit::in_window(0.5, kShortestWindow)})).empty());
    for (const double wrong : {-1.0, kMostInWindow * 2, std::nan(""), double{INFINITY}}) {
        CAPTURE(wrong);
        check_error(errors_of(quota("q", {RateLimit::in_window(wrong, kMonth)})),
                    "limits[0].window", "from 0 to 1e15");
    }
    for (const Duration wrong : {Duration::zero(), kShortestWindow - Duration(1),
                                 kLongestWindow + Duration(1), kShortestWindow + Duration(1)}) {
        CAPTURE(wrong.count());
        check_error(errors_of(quota("q", {RateLimit::in_window(5, wrong)})), "limits[0].window",
                    "a window lasts");
    }
    RateLimit rate = hourly;
    rate.kind = LimitKind::rate;
    CHECK(errors_of(quota("q", {rate, hourly})).empty());
    RateLimit first = hourly;
    first.from = WindowStart::first;
    check_error(errors_of(quota("q", {hourly, first})), "limits[1]", "the same unit and period");
    first.unit = Unit::cost;
    CHECK(errors_of(quota("q", {hourly, first})).empty());
}

TEST_CASE("where a window begins is held to the calendar") {
    RateLimit window = RateLimit::in_window(64, std::chrono::hours(1));
    window.from = WindowStart::calendar;
    window.timezone = "Mars/Base";  // whether there is such a zone, the parser of documents asks
    CHECK(errors_of(quota("q", {window})).empty());
    window.timezone = std::string(65, 'x');
    check_error(errors_of(quota("q", {window})), "limits[0].timezone", "not the name");
    window.timezone = "a b";
    check_error(errors_of(quota("q", {window})), "limits[0].timezone", "not the name");
    window.timezone = "UTC";
    window.from = WindowStart::first;
    check_error(errors_of(quota("q", {window})), "limits[0].timezone", "needs 'from: calendar'");
    window.from = WindowStart::calendar;
    window.period = std::chrono::days(30);
    check_error(errors_of(quota("q", {window})), "limits[0].window", "a week (1w) or a month");
    window = RateLimit::in_window(64, kMonth);
    window.from = WindowStart::name;
    check_error(errors_of(quota("q", {window})), "limits[0].from", "begins with the calendar");
    RateLimit in_flight = RateLimit::in_flight(5);
    in_flight.from = WindowStart::first;
    check_error(errors_of(quota("q", {in_flight})), "limits[0].from", "belongs to a window");
}

TEST_CASE("a missing parent comes with a suggestion") {
    const auto errors = errors_of(quota("q", {}, "goood"));
    check_error(errors, "parent", "no quota 'goood'");
    CHECK(errors[0].suggestion == "did you mean 'good'?");
}

TEST_CASE("captures of the parent must be the child's") {
    const std::vector set{quota("a/{x}", {}), quota("a/{y}/b", {}, "a/{x}")};
    const auto errors = validate(set).listed();
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message == "{x} is not a capture of this quota");
    CHECK(errors[0].suggestion.empty());
    CHECK(validate(std::vector{quota("b/{bucket}/x", {}, "b/{buckt}")}).listed()[0].suggestion ==
          "did you mean '{bucket}'?");
    CHECK(validate(std::vector{quota("a/{x}", {}), quota("a/{y}/b", {}, "a/{y}")}).count() == 0);
}

TEST_CASE("the parent of a catch-all is made of the captures before it") {
    const auto all = [](const char* parent) {
        return validate(std::vector{quota("a", {}), quota("a/{x}", {}),
                                    quota("a/{x}/{rest**}", {}, parent)})
            .listed();
    };
    CHECK(all("a").empty());
    CHECK(all("a/{x}").empty());
    REQUIRE(all("a/{rest**}").size() == 1);
    CHECK(all("a/{rest**}")[0].message ==
          "has a catch-all: a parent is made of the captures before it");
    REQUIRE(all("a/{rest}").size() == 1);
    CHECK(all("a/{rest}")[0].message == "{rest} is not a capture of this quota");
    CHECK(validate(std::vector{quota("a/{x**}", {}), quota("a/{y**}", {})}).count() == 1);
    CHECK(validate(std::vector{quota("a/{x**}", {}), quota("a/{y}", {})}).count() == 0);
    // What only a catch-all fits is nobody's parent, for it may be misspelt.
    const auto misspelt = validate(std::vector{quota("{all**}", {}), quota("tenants", {}),
                                               quota("tenants/{t}", {}, "tenant")})
                              .listed();
    REQUIRE(misspelt.size() == 1);
    CHECK(misspelt[0].message == "there is no quota 'tenant'");
    CHECK(misspelt[0].suggestion == "did you mean 'tenants'?");
    CHECK(validate(std::vector{quota("{all**}", {}), quota("a", {}, "{all**}")}).count() == 1);
    // Its parent would fall under itself.
    CHECK(validate(std::vector{quota("a/{x**}", {}, "a/b")}).count() == 1);
}

TEST_CASE("templates that match the same names collide; cycles and depth are found") {
    CHECK(validate(std::vector{quota("a/{x}", {}), quota("a/{y}", {})}).count() == 1);
    CHECK(validate(std::vector{quota("a", {}, "b"), quota("b", {}, "a")}).count() == 2);
    std::vector<QuotaDefinition> deep{quota("q0", {})};
    for (int i = 1; i < 16; ++i) {
        deep.push_back(quota("q" + std::to_string(i), {}, "q" + std::to_string(i - 1)));
    }
    CHECK(validate(deep).count() == 0);
    deep.push_back(quota("q16", {}, "q15"));
    CHECK(validate(deep).count() == 1);
}

TEST_CASE("all errors come at once") {
    CHECK(validate(std::vector{quota("", {}), quota("q", {per_second(-1)}, "x"), quota("q", {})})
              .count() == 4);
}

TEST_CASE("of very many errors the first are listed, and all are counted") {
    const QuotaDefinition crowded = quota("crowded", std::vector<RateLimit>(3000, per_second(1)));
    const auto errors = validate(std::vector{crowded});
    // Each but the first is as an earlier one, and they are too many for a quota and for a chain.
    CHECK(errors.count() == 2999 + 2);
    CHECK(errors.listed().size() == DefinitionErrors::kMostListed);
    CHECK(errors.full());
    std::vector<QuotaDefinition> orphans;
    for (int i = 0; i < 4000; ++i) {
        orphans.push_back(quota("tenant-" + std::to_string(i), {}, "tenatn-" + std::to_string(i)));
    }
    CHECK(validate(orphans).count() == 4000);
    CHECK(validate(orphans).listed().front().suggestion == "did you mean 'tenant-0'?");
}

TEST_CASE("of a definition that could not be read as a whole only errors of its parent count") {
    const std::vector set{quota("a", {per_second(-1)}, "b"), quota("c", {per_second(-1)}, "d")};
    CHECK(validate(set).count() == 4);
    const auto errors = validate(set, {true, false});
    REQUIRE(errors.count() == 3);
    CHECK(errors.listed()[0].field == "limits[0].rate");
    CHECK(errors.listed()[0].index == 1);
    CHECK(errors.listed()[1].field == "parent");
}
