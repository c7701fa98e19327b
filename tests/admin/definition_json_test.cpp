#include "admin/definition_json.h"

#include <doctest/doctest.h>

#include <string>

using namespace weir;
using namespace weir::admin;

namespace {

const std::string kName = "s3/{bucket}/write";
const std::string kWhole =
    R"({"parent": "s3/{bucket}", "limits": [{"rate": "100r/s", "low": "1s", "high": "2s"}]})";

limiter::QuotaDefinition definition() {
    auto parsed = parse_definition(kWhole, kName);
    REQUIRE(parsed.errors.empty());
    REQUIRE(parsed.definition.has_value());
    return *parsed.definition;
}

bool mentions(const ParsedDefinition& parsed, std::string_view path) {
    for (const auto& error : parsed.errors) {
        if (error.path.find(path) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("a whole definition may leave its name to the path") {
    const auto parsed = definition();
    CHECK(parsed.name == kName);
    CHECK(parsed.parent == "s3/{bucket}");
    REQUIRE(parsed.limits.size() == 1);
    CHECK(parsed.limits.front().rate() == 100);
    const auto named = parse_definition(R"({"name": "s3", "limits": [{"rate": "5r/m"}]})", "s3");
    REQUIRE(named.definition.has_value());
    CHECK(named.definition->limits.front().period == std::chrono::minutes(1));
}

TEST_CASE("another name than the path's is an error") {
    const auto parsed = parse_definition(R"({"name": "s4", "limits": [{"rate": "5r/m"}]})", "s3");
    CHECK_FALSE(parsed.definition.has_value());
    CHECK(mentions(parsed, "name"));
}

TEST_CASE("a name with quotes and a backslash survives being put into the body") {
    const std::string name = "a\"b\\c";
    const auto parsed = parse_definition(R"({"limits": [{"rate": "5r/s"}]})", name);
    if (parsed.definition) {
        CHECK(parsed.definition->name == name);
    } else {
        CHECK_FALSE(parsed.errors.empty());  // config may refuse such names, but not misread them
    }
}

TEST_CASE("what GET shows can be PUT back") {
    const auto original = definition();
    const auto again = parse_definition(definition_to_json(original).dump(), kName);
    REQUIRE(again.definition.has_value());
    CHECK(*again.definition == original);
}

TEST_CASE("all errors at once, each with its path") {
    const auto parsed = parse_definition(
        R"({"limit": [], "mode": "maybe", "limits": [{"rate": "100"}, {"rate": "1r/s", "low": 5}]})",
        "s3");
    CHECK_FALSE(parsed.definition.has_value());
    CHECK(parsed.errors.size() >= 4);
    CHECK(mentions(parsed, "limit"));
    CHECK(mentions(parsed, "mode"));
    CHECK(mentions(parsed, "limits[0]"));
    CHECK(mentions(parsed, "limits[1]"));
}

TEST_CASE("places are those of the body as it was sent; a patch has none") {
    const auto whole = parse_definition("{\n  \"limits\": [{\"rate\": \"5r\"}]\n}", "s3");
    REQUIRE(whole.errors.size() == 1);
    CHECK(whole.errors.front().place == config::TextPlace{.line = 2, .column = 23});
    const auto one_line = parse_definition(R"({"limits": [{"rate": "5r"}]})", "s3");
    REQUIRE(one_line.errors.size() == 1);
    CHECK(one_line.errors.front().place == config::TextPlace{.line = 1, .column = 22});
    const auto patch = patch_definition(definition(), R"({"mode": "maybe"})");
    REQUIRE(patch.errors.size() == 1);
    CHECK(patch.errors.front().place.line == 0);
    CHECK(parse_definition(" { } ", "s3").definition.has_value());
}

TEST_CASE("what is not a JSON object is an error, however deep or broken") {
    for (const auto& body :
         {std::string(), std::string("null"), std::string("[]"), std::string("7"), std::string("{"),
          std::string("{\"limits\": [}"), std::string("{} {}"), std::string(200'000, '['),
          std::string("\xff\xfe")}) {
        CAPTURE(body.substr(0, 40));
        const auto parsed = parse_definition(body, "s3");
        CHECK_FALSE(parsed.definition.has_value());
        CHECK_FALSE(parsed.errors.empty());
    }
    std::string deep;
    for (int i = 0; i < 50'000; ++i) {
        deep += "{\"a\":";
    }
    CHECK_FALSE(parse_definition(deep, "s3").definition.has_value());
}

TEST_CASE("doubled keys are errors in a whole definition and in a patch") {
    const std::string doubled = R"({"mode": "shadow", "mode": "off"})";
    CHECK_FALSE(parse_definition(doubled, "s3").errors.empty());
    CHECK_FALSE(patch_definition(definition(), doubled).errors.empty());
}

TEST_CASE("absent stands alone") {
    CHECK(parse_definition(R"({"absent": true})", "s3").absent);
    CHECK(parse_definition(R"({"absent": true})", "s3").errors.empty());
    CHECK_FALSE(parse_definition(R"({"absent": false})", "s3").errors.empty());
    CHECK_FALSE(parse_definition(R"({"absent": true, "mode": "off"})", "s3").errors.empty());
    const auto doubled = parse_definition(R"({"absent": false, "absent": true})", "s3");
    CHECK_FALSE(doubled.absent);
    REQUIRE(doubled.errors.size() == 1);
    CHECK(doubled.errors[0].what.find("twice") != std::string::npos);
}

TEST_CASE("a merge patch changes what it names and nothing else") {
    const auto patched = patch_definition(definition(), R"({"mode": "shadow"})");
    REQUIRE(patched.definition.has_value());
    auto expected = definition();
    expected.mode = limiter::Mode::shadow;
    CHECK(*patched.definition == expected);

    const auto removed = patch_definition(definition(), R"({"parent": null})");
    REQUIRE(removed.definition.has_value());
    CHECK_FALSE(removed.definition->parent.has_value());

    const auto limits = patch_definition(definition(), R"({"limits": [{"rate": "7r/s"}]})");
    REQUIRE(limits.definition.has_value());
    CHECK(limits.definition->limits.front().rate() == 7);
    CHECK_FALSE(limits.definition->limits.front().low.has_value());
}

TEST_CASE("a patch that is wrong in any way changes nothing") {
    std::string deep = "1";
    for (int i = 0; i < 50'000; ++i) {
        deep = "{\"a\":" + deep + "}";
    }
    for (const std::string& patch :
         {std::string("[]"), std::string("7"), std::string("{"), std::string(R"({"name": "s4"})"),
          std::string(R"({"mode": "maybe"})"), std::string(R"({"modes": "off"})"), deep}) {
        CAPTURE(patch.substr(0, 40));
        const auto parsed = patch_definition(definition(), patch);
        CHECK_FALSE(parsed.definition.has_value());
        CHECK_FALSE(parsed.errors.empty());
    }
}

TEST_CASE("of more definitions than one change sets none is read, and the error says what to do") {
    std::string items;
    for (std::size_t i = 0; i <= definitions::kMaximumTogether; ++i) {
        items += R"({"definition": {}},)";  // each would be an error of its own
    }
    items.pop_back();
    const auto parsed = parse_definitions(R"({"quotas": [)" + items + "]}");
    CHECK(parsed.wanted.empty());
    REQUIRE(parsed.errors.size() == 1);
    CHECK(parsed.errors[0].path == "quotas");
    CHECK(parsed.errors[0].what.find("at most 1000") != std::string::npos);
    CHECK(parsed.errors[0].what.find("a file of a set") != std::string::npos);
}
