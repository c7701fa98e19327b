// A long set that is read quota by quota against the same text read as a whole.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "config/long_quotas.h"
#include "definitions/codec.h"

namespace weir::config {
namespace {

const std::string kJsonHead = R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "big",)";

std::vector<SourceText> text_of(const std::string& rest) {
    return {{"big.json", kJsonHead + rest}};
}

/// The set read as a whole, with its quotas encoded; nothing if it has errors.
std::optional<QuotaSet> as_a_whole(const std::vector<SourceText>& sources) {
    Diagnostics diagnostics;
    std::vector<QuotaSet> sets = parse_quota_sets(sources, diagnostics);
    if (diagnostics.has_errors() || sets.size() != 1) {
        return std::nullopt;
    }
    auto encoded = definitions::encode_document(sets[0].quotas);
    REQUIRE(encoded.has_value());
    sets[0].encoded = std::make_shared<const std::vector<std::byte>>(std::move(*encoded));
    return std::move(sets[0]);
}

/// The set read quota by quota, of texts that come so many bytes at a time.
std::optional<QuotaSet> by_quota_of(const std::vector<SourceText>& texts, std::size_t at_a_time) {
    std::vector<LongSource> sources;
    for (const SourceText& text : texts) {
        LongSource& source = sources.emplace_back(long_source(text));
        source.read = [all = source.read, at_a_time](std::span<char> buffer) {
            return all(buffer.first(std::min(at_a_time, buffer.size())));
        };
    }
    return read_long_set(sources);
}

std::optional<QuotaSet> by_quota_of(const std::vector<SourceText>& texts) {
    return by_quota_of(texts, std::numeric_limits<std::size_t>::max());
}

void check_equal(const std::vector<SourceText>& sources, std::size_t at_a_time) {
    CAPTURE(sources.back().text);
    CAPTURE(at_a_time);
    const auto whole = as_a_whole(sources);
    const auto by_quota = by_quota_of(sources, at_a_time);
    REQUIRE(whole.has_value());
    REQUIRE(by_quota.has_value());
    CHECK(by_quota->name == whole->name);
    CHECK(by_quota->file == whole->file);
    CHECK(by_quota->generation == whole->generation);
    CHECK(*by_quota->encoded == *whole->encoded);
    CHECK(by_quota->encoded_hash == definitions::document_hash(*whole->encoded));
    CHECK(by_quota->quotas.empty());
}

void check_equal(const std::vector<SourceText>& sources) {
    for (const std::size_t at_a_time : {1U, 2U, 3U, 5U, 1000U}) {
        check_equal(sources, at_a_time);
    }
}

TEST_CASE("both readers read the same") {
    check_equal(text_of(R"("quotas": []})"));
    check_equal(text_of(R"("quotas": [{"name": "a"}, {"name": "b", "parent": "a"}]})"));
    check_equal(text_of(R"("generation": 7, "quotas": [
        {"name": "u/{id}", "parent": "all", "max_instances": 5, "limits": [
            {"rate": "10r/s", "low": "20r", "high": "3s"}, {"rate": "5MiB/s",
             "of": "response-bytes"}]},
        {"name": "all", "mode": "shadow", "limits": [{"rate": "0r/s"}],
         "headers": ["hidden", "ietf"]}]})"));
    // The head may come behind the quotas, and keys may be escaped.
    check_equal({{"x.json", R"({"quotas": [{"name": "\u0061b"}], "n\u0061me": "big",
        "kind": "QuotaSet", "apiVersion": "weir/v1"})"}});
}

TEST_CASE("parts of one set are joined") {
    std::vector<SourceText> parts = text_of(R"("quotas": [{"name": "b", "parent": "a"}]})");
    parts.push_back({"other.json", kJsonHead + R"("quotas": [{"name": "a"}]})"});
    check_equal(parts);
    parts[1].text = kJsonHead + R"("generation": 2, "quotas": [{"name": "a"}]})";
    CHECK_FALSE(by_quota_of(parts));
    parts[1] = {"other.yaml", "apiVersion: weir/v1\nkind: QuotaSet\nname: big\nquotas: []\n"};
    CHECK_FALSE(by_quota_of(parts));
}

TEST_CASE("whatever has an error is left to the other reader") {
    for (const char* const rest :
         {R"("quotas": [{"name": "a"}, {"name": "a"}]})",
          R"("quotas": [{"name": "a", "parent": "b"}]})",
          R"("quotas": [{"name": "a", "colour": "red"}]})",
          R"("quotas": [{"name": "a", "name": "b"}]})",
          R"("quotas": [{"name": "a", "limits": [{"rate": "ten"}]}]})",
          R"("quotas": [{"name": "a", "max_instances": -0}]})", R"("quotas": [["a"]]})",
          R"("quotas": ["a"]})", R"("quotas": {}})", R"("quotas": [], "quotas": []})",
          R"("quotas": [{"name": "a")", R"("quotas": [{"name": "a"}]} x)",
          R"("colour": "red", "quotas": []})", R"("generation": 0, "quotas": []})",
          R"("quotas": [{"limits": []}]})", R"("x": 1})", "\"quotas\": [{\"name\": \"a\x7f\"}]}"}) {
        CAPTURE(rest);
        CHECK_FALSE(as_a_whole(text_of(rest)));
        CHECK_FALSE(by_quota_of(text_of(rest)));
        CHECK_FALSE(by_quota_of(text_of(rest), 1));
    }
    CHECK_FALSE(by_quota_of({{"a.json", "null"}}));
    CHECK_FALSE(by_quota_of({{"a.json", "[]"}}));
    CHECK_FALSE(read_long_set({}));
}

TEST_CASE("characters of several bytes may lie across the pieces of a text") {
    const std::string head = R"("quotas": [{"name": ")";
    check_equal(text_of(head + "\u00e9\u20ac\U0001f600\"}]}"));
    for (const char* const name :
         {"\xe2\x82", "\xf0\x9f\x98", "\xc3(", "\x80", "\xff", "\xed\xa0\x80"}) {
        for (const std::size_t at_a_time : {1U, 2U, 3U, 1000U}) {
            CHECK_FALSE(by_quota_of(text_of(head + name + "\"}]}"), at_a_time));
        }
    }
    CHECK_FALSE(by_quota_of(text_of(head + "a\"}]}\xe2\x82")));
}

TEST_CASE("a text of several pieces is read whole") {
    std::string quotas = R"("quotas": [)";
    for (int i = 0; i < 10'000; ++i) {
        quotas += R"({"name": "\u00e9)" + std::to_string(i) + R"("}, )";
    }
    check_equal(text_of(quotas + R"({"name": "last"}]})"), 100'000);
}

TEST_CASE("a text that is longer than it was said to be is not read") {
    const SourceText text = text_of(R"("quotas": []})").front();
    LongSource source = long_source(text);
    source.bytes -= 1;
    CHECK_FALSE(read_long_set({source}));
}

}  // namespace
}  // namespace weir::config
