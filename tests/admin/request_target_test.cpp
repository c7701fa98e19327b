#include "admin/request_target.h"

#include <doctest/doctest.h>

using namespace weir::admin;

TEST_CASE("escapes are decoded once, and broken ones refused") {
    CHECK(percent_decode("s3%2Fb1") == "s3/b1");
    CHECK(percent_decode("a%252F") == "a%2F");
    CHECK(percent_decode("%7Bbucket%7d") == "{bucket}");
    CHECK(percent_decode("a+b") == "a+b");
    CHECK(percent_decode("") == "");
    for (const auto* broken : {"%", "%2", "a%zz", "%2g", "%%20", "x%"}) {
        CAPTURE(broken);
        CHECK_FALSE(percent_decode(broken).has_value());
    }
}

TEST_CASE("path and query are taken apart") {
    const auto target = parse_target("/v1/quotas/s3%2Fb?who=me+too&why=a%26b&flag");
    REQUIRE(target.has_value());
    CHECK(target->raw_path == "/v1/quotas/s3%2Fb");
    CHECK(target->query.at("who") == "me too");
    CHECK(target->query.at("why") == "a&b");
    CHECK(target->query.at("flag").empty());
    CHECK(parse_target("/x?")->query.empty());
    CHECK(parse_target("/x?a=b?c")->query.at("a") == "b?c");
    CHECK(parse_target("/x?&a=1&")->query.size() == 1);
}

TEST_CASE("other forms of target, broken escapes and doubled parameters are refused") {
    for (const auto* bad :
         {"", "*", "http://127.0.0.1/v1/peers", "v1", "/x%g0", "/x?a=%1", "/x?a=1&a=2", "/x?%=1"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_target(bad).has_value());
    }
}
