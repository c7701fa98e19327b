#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "limiter/name_pattern.h"
#include "limiter/name_table.h"
#include "limiter/template_index.h"

using namespace weir::limiter;

namespace {
NamePattern pattern(std::string_view text) { return NamePattern::parse(text).value(); }
}  // namespace

TEST_CASE("a pattern matches segment by segment") {
    const NamePattern write = pattern("s3/{bucket}/write");
    const auto captures = write.match("s3/b1/write");
    REQUIRE(captures);
    CHECK((*captures)[0].first == "bucket");
    CHECK((*captures)[0].second == "b1");
    CHECK_FALSE(write.match("s3/b1"));
    CHECK_FALSE(write.match("s3/b1/write/x"));
    CHECK_FALSE(write.match("s3//write"));
    CHECK_FALSE(write.match("s3/b1/read"));
    CHECK(pattern("s3/{b}").expand(NamedCaptures{{"b", "x"}}) == "s3/x");
    const NamePattern inner = pattern("user-{id}.v1");
    CHECK(inner.match("user-7.v1"));
    CHECK_FALSE(inner.match("user-.v1"));
    CHECK(inner.expand(NamedCaptures{{"id", "7"}}) == "user-7.v1");
}

TEST_CASE("a catch-all matches across slashes") {
    const NamePattern all = pattern("s3/{bucket}/{rest**}");
    CHECK(all.has_catch_all());
    const auto captures = all.match("s3/b1/a/b/c");
    REQUIRE(captures);
    REQUIRE(captures->size() == 2);
    CHECK((*captures)[1].first == "rest");
    CHECK((*captures)[1].second == "a/b/c");
    CHECK(all.match("s3/b1/a"));
    CHECK(all.match("s3/b1/a/"));
    CHECK_FALSE(all.match("s3/b1"));
    CHECK_FALSE(all.match("s3/b1/"));
    CHECK_FALSE(all.match("s3//a"));
    CHECK_FALSE(all.match("s4/b1/a"));
    CHECK(pattern("{all**}").match("a/b"));
    CHECK_FALSE(pattern("{all**}").match(""));
    CHECK(all.expand(*captures) == "s3/b1/a/b/c");
    CHECK_FALSE(pattern("s3/{bucket}").has_catch_all());
}

TEST_CASE("a catch-all is the lowest in rank") {
    TemplateIndex index;
    index.add(pattern("{all**}"), 1);
    index.add(pattern("s3/{rest**}"), 2);
    index.add(pattern("s3/{bucket}/log/{rest**}"), 3);
    index.add(pattern("{a}/{b}/{c}"), 4);
    index.add(pattern("s3/{bucket}/{rest**}"), 5);
    CHECK(index.find("x") == 1);
    CHECK(index.find("x/y") == 1);
    CHECK(index.find("s3") == 1);
    CHECK(index.find("s3/b") == 2);
    CHECK(index.find("s3/b/log/a/b") == 3);
    CHECK(index.find("s3/b/log") == 4);  // any other template beats every catch-all
    CHECK(index.find("x/y/z") == 4);
    CHECK(index.find("s3/b/c/d") == 5);  // of two as literal as each other the longer one
    CHECK(index.find("x/y/z/") == 1);
    CHECK_FALSE(index.find(""));
}

TEST_CASE("bad patterns are refused with a reason") {
    for (const char* text :
         {"a/{", "a/}", "a/}{", "a/{}", "a/{x}{y}", "a/{x y}", "{x}/{x}", "{**}", "a/{x*}",
          "a/{x***}", "a/b{x**}", "a/{x**}b", "{x**}/a", "{x**}/", "{x}/{x**}"}) {
        CAPTURE(text);
        CHECK(NamePattern::parse(text).has_error());
    }
}

TEST_CASE("the more literal template wins") {
    TemplateIndex index;
    index.add(pattern("{a}/{b}/{c}"), 1);
    index.add(pattern("s3/{b}/{c}"), 2);
    index.add(pattern("{a}/b1/write"), 3);
    index.add(pattern("s3/{b}/write"), 4);
    index.add(pattern("s3/hot-{b}/write"), 5);
    CHECK(index.find("x/y/z") == 1);
    CHECK(index.find("s3/y/z") == 2);
    CHECK(index.find("x/b1/write") == 3);
    CHECK(index.find("s3/y/write") == 4);
    CHECK(index.find("s3/b1/write") == 4);  // both two literals and as many bytes more
    CHECK(index.find("s3/hot-1/write") == 5);
    CHECK_FALSE(index.find("x/y"));
    CHECK_FALSE(index.find(""));
}

TEST_CASE("the name table behaves like a map") {
    const bool holds = rc::check([] {
        NameTable table(16);
        std::map<std::uint64_t, std::uint32_t> model;
        const auto steps = *rc::gen::container<std::vector<std::pair<std::uint8_t, bool>>>(
            rc::gen::pair(rc::gen::arbitrary<std::uint8_t>(), rc::gen::arbitrary<bool>()));
        std::uint32_t value = 0;
        for (const auto& [byte, insert] : steps) {
            // Few distinct low bits: long clusters.
            const std::uint64_t key = (std::uint64_t{byte} << 32) | (byte % 3U);
            if (insert && !model.contains(key)) {
                if (table.load() > 0.8) {
                    (void)table.grow();
                }
                table.insert(key, {++value, byte});
                model[key] = value;
            } else if (!insert) {
                table.erase(key);
                model.erase(key);
            }
            RC_ASSERT(table.size() == model.size());
        }
        for (std::uint64_t byte = 0; byte < 256; ++byte) {
            const std::uint64_t key = (byte << 32) | (byte % 3U);
            const auto found = table.find(key);
            RC_ASSERT(found.has_value() == model.contains(key));
            RC_ASSERT(!found || found->value == model[key]);
        }
    });
    CHECK(holds);
}

TEST_CASE("the two reserved marks are fine as hashes, and updates stay in place") {
    NameTable table(16);
    table.insert(0, {1, 0});
    table.insert(1, {2, 0});
    CHECK(table.find(0)->value == 1);
    CHECK(table.find(1)->value == 2);
    table.update(1, {7, 9});
    CHECK(table.find(1)->value == 7);
    CHECK(table.find(1)->extra == 9);
    table.erase(0);
    table.erase(0);
    CHECK(table.size() == 1);
    CHECK_FALSE(table.find(0));
}

TEST_CASE("erasing and inserting for ever leaves no tombstones that matter") {
    NameTable table(64);
    for (std::uint64_t i = 2; i < 100'000; ++i) {
        table.insert(i * 0x9e3779b97f4a7c15ULL, {1, 0});
        if (i > 20) {
            table.erase((i - 18) * 0x9e3779b97f4a7c15ULL);
        }
        if (table.load() > 0.85) {
            (void)table.grow();
        }
    }
    CHECK(table.bytes() <= 128 * 16);
}
