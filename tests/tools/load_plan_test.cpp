#include "tools/load_plan.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace weir::tools {
namespace {

TEST_CASE("a plan with steps of rate and of shares") {
    const LoadPlan plan = parse_plan(R"({
        "seed": 9, "duration_s": 3,
        "targets": [{"name": "a", "address": "127.0.0.1:1"}, {"name": "b", "address": "unix:/b"}],
        "streams": [
            {"name": "s", "path": "/s", "rate": 5, "headers": {"X-A": "b"}},
            {"name": "t", "arrivals": "poisson", "rate": [{"at_s": 0, "per_second": 1}, {"at_s": 2, "per_second": 9}],
             "shares": [{"at_s": 0, "shares": [1, 0]}, {"at_s": 2, "shares": [0, 1]}]}]})");
    CHECK(plan.seed == 9);
    CHECK(plan.targets[1].address == "unix:/b");
    CHECK(plan.streams[0].shares[0].shares == std::vector<double>{1, 1});
    CHECK(plan.streams[0].rate[0].per_second == 5);
    CHECK(plan.streams[0].headers == decltype(LoadStream::headers){{"X-A", "b"}});
    CHECK(plan.streams[1].arrivals == Arrivals::Kind::poisson);
    CHECK(plan.streams[1].rate[1].at_s == 2);
    CHECK(plan.streams[1].shares[1].shares == std::vector<double>{0, 1});
}

TEST_CASE("a closed loop has no rate") {
    const LoadPlan plan = parse_plan(R"({
        "targets": [{"name": "a", "address": "127.0.0.1:1"}],
        "streams": [{"name": "s", "arrivals": "closed"}, {"name": "t", "rate": 1}]})");
    CHECK(plan.streams[0].closed);
    CHECK(plan.streams[0].rate[0].per_second == 0);
    CHECK_FALSE(plan.streams[1].closed);
}

TEST_CASE("a bad plan says what is wrong") {
    CHECK_THROWS_AS(static_cast<void>(parse_plan("{")), std::runtime_error);
    CHECK_THROWS_AS(static_cast<void>(parse_plan(R"({"targets": []})")), std::runtime_error);
    const char* one = R"({"targets": [{"name": "a", "address": "x"}], "streams": [%])";
    auto with = [&](const std::string& stream) {
        std::string text = one;
        text.replace(text.find('%'), 1, stream);
        return parse_plan(text + "}");
    };
    CHECK_NOTHROW(static_cast<void>(with(R"({"name": "s", "rate": 1})")));
    CHECK_THROWS(static_cast<void>(with(R"({"name": "s", "rate": 1, "variants": 0})")));
    CHECK_THROWS(static_cast<void>(with(R"({"name": "s", "rate": 1, "shares": [1, 2]})")));
    CHECK_THROWS(static_cast<void>(with(R"({"name": "s", "rate": 1, "arrivals": "x"})")));
    CHECK_THROWS(
        static_cast<void>(with(R"({"name": "s", "rate": [{"at_s": 1, "per_second": 1}]})")));
}

}  // namespace
}  // namespace weir::tools
