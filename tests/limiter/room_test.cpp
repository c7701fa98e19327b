// Which idle instances make room for names that come when a bound is reached, and for whom.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"
#include "limiter/record.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

LimiterOptions bound(std::uint32_t instances) {
    LimiterOptions options = Fixture::small();
    options.max_instances = instances;
    options.idle_after = std::chrono::minutes(10);  // upkeep leaves the matter to us
    return options;
}

std::string name_of(const std::string& prefix, int i, const std::string& suffix = "") {
    return prefix + std::to_string(i) + suffix;
}

/// How many of so many requests at once are admitted.
int admitted_of(Fixture& fixture, const std::string& name, int requests) {
    int admitted = 0;
    for (int i = 0; i < requests; ++i) {
        admitted += fixture.admits(name) ? 1 : 0;
    }
    return admitted;
}

/// Uses names without end, one request each.
void flood(Fixture& fixture, const std::string& prefix, int names, double pause = 0,
           const std::string& suffix = "") {
    static int next = 0;  // never the same name twice
    for (int i = 0; i < names; ++i) {
        (void)fixture.admits(name_of(prefix + "flood", ++next, suffix));
        fixture.wait(pause);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);  // what is gone may be used again
    }
}

int living(Fixture& fixture, const std::string& prefix, int names, const std::string& suffix = "") {
    int living = 0;
    for (int i = 0; i < names; ++i) {
        living += fixture.level(name_of(prefix, i, suffix)) >= 0 ? 1 : 0;
    }
    return living;
}

const std::vector<QuotaDefinition> kTwoTemplates = {quota("a/{k}", {per_minute(5)}),
                                                    quota("b/{k}", {per_minute(5)})};

std::vector<QuotaDefinition> two_levels(std::uint32_t most_parents = 0) {
    QuotaDefinition bucket = quota("s3/{k}", {per_minute(20)}, "s3");
    bucket.max_instances = most_parents;
    return {quota("s3", {borders(1, 1e9, 1e9)}), bucket,
            quota("s3/{k}/write", {per_minute(5)}, "s3/{k}")};
}

}  // namespace

TEST_CASE("one template's flood of names leaves another's tenants their own limits") {
    Fixture fixture(kTwoTemplates, bound(1000));
    flood(fixture, "a/", 1200);
    fixture.wait(3);
    const std::uint64_t overflowed = fixture.limiter.counters().overflowed;
    CHECK(admitted_of(fixture, "b/one", 60) == 5);
    CHECK(admitted_of(fixture, "b/two", 5) == 5);
    CHECK(fixture.limiter.counters().overflowed == overflowed);
    CHECK(fixture.limiter.counters().replaced == 2);
    CHECK(fixture.limiter.memory().instances == 1000);
}

TEST_CASE("whoever floods pays with his own instances, also when others are idle") {
    Fixture fixture(kTwoTemplates, bound(1000));
    // More than a power of two each, so that they are of one rank.
    constexpr int kTenants = 470;
    for (int i = 0; i < kTenants; ++i) {
        CHECK(fixture.admits(name_of("b/", i)));
    }
    flood(fixture, "a/", 530);
    fixture.wait(2);
    SUBCASE("slowly, so that there always is an idle one of the flood's") {
        flood(fixture, "a/", 5000, 0.01);
        CHECK(fixture.limiter.counters().replaced == 5000);
    }
    SUBCASE("at once, so that there soon is none: rather the overflow instance") {
        flood(fixture, "a/", 5000);
        CHECK(fixture.limiter.counters().replaced == 530);
        CHECK(fixture.limiter.counters().overflowed == 4470);
    }
    CHECK(living(fixture, "b/", kTenants) == kTenants);
    CHECK(fixture.limiter.memory().instances == 1000);
}

TEST_CASE("a full bucket makes no room for another template; then its overflow instance counts") {
    Fixture fixture(kTwoTemplates, bound(20));
    for (int i = 0; i < 20; ++i) {
        CHECK(admitted_of(fixture, name_of("a/", i), 5) == 5);
    }
    fixture.wait(3);
    CHECK(admitted_of(fixture, "b/one", 60) == 50);  // ten times, shared
    CHECK(admitted_of(fixture, "b/two", 5) == 0);
    CHECK(fixture.limiter.counters().replaced == 0);
    for (int i = 0; i < 20; ++i) {
        CHECK_FALSE(fixture.admits(name_of("a/", i)));
    }
    fixture.wait(60);  // they are empty
    CHECK(admitted_of(fixture, "b/one", 60) == 5);
}

TEST_CASE("an idle chain makes room for a chain, children with their parents") {
    Fixture fixture(two_levels(), bound(1001));
    for (int i = 0; i < 500; ++i) {
        CHECK(fixture.admits(name_of("s3/", i, "/write")));
    }
    REQUIRE(fixture.limiter.memory().instances == 1001);
    fixture.wait(3);
    CHECK(admitted_of(fixture, "s3/new/write", 60) == 5);
    CHECK(fixture.level("s3/new") == doctest::Approx(5));
    CHECK(fixture.limiter.counters().overflowed == 0);
    CHECK(fixture.limiter.counters().replaced == 2);
    CHECK(living(fixture, "s3/", 500) == 499);
    CHECK(living(fixture, "s3/", 500, "/write") == 499);
    SUBCASE("one after the other, for ever") {
        flood(fixture, "s3/", 3000, 0.01, "/write");
        CHECK(fixture.limiter.counters().overflowed == 0);
        CHECK(fixture.limiter.counters().replaced == 6002);
        CHECK(fixture.limiter.memory().instances == 1001);
    }
}

TEST_CASE("idle children go with their parents when a template's own cap is reached") {
    Fixture fixture(two_levels(50));
    for (int i = 0; i < 50; ++i) {
        CHECK(fixture.admits(name_of("s3/", i, "/write")));
    }
    fixture.wait(3);
    CHECK(admitted_of(fixture, "s3/new/write", 60) == 5);
    CHECK(fixture.limiter.counters().overflowed == 0);
    CHECK(fixture.limiter.counters().replaced == 2);
    CHECK(fixture.limiter.memory().instances == 101);
    SUBCASE("but not with a parent that is in use, or whose other child is") {
        CHECK(fixture.put(quota("s3/{k}/read", {per_minute(5)}, "s3/{k}")).empty());
        for (int i = 0; i < 50; ++i) {
            (void)fixture.admits(name_of("s3/", i, "/read"));
        }
        const std::uint64_t overflowed = fixture.limiter.counters().overflowed;
        CHECK(fixture.admits("s3/other/write"));
        CHECK(fixture.limiter.counters().overflowed == overflowed + 2);
        CHECK(fixture.limiter.counters().replaced == 2);
    }
}

TEST_CASE("a chain is made whole or not at all, and its root is charged all the same") {
    Fixture fixture(two_levels(), bound(12));
    for (int i = 0; i < 5; ++i) {
        CHECK(fixture.admits(name_of("s3/", i, "/write")));
    }
    const std::uint64_t created = fixture.limiter.counters().created;
    const double level = fixture.level("s3");
    // One place is left, two are wanted, nothing is idle.
    const LeafId leaf = fixture.find("s3/new/write");
    CHECK(leaf.overflow_depth == 2);
    CHECK(admitted_of(fixture, "s3/new/write", 60) == 50);
    CHECK(fixture.level("s3/new") == -1);
    CHECK(fixture.limiter.counters().created == created);
    CHECK(fixture.limiter.counters().replaced == 0);
    CHECK(fixture.level("s3") == doctest::Approx(level + 50));
    SUBCASE("a single one fits") {
        CHECK(fixture.find("s3/new").overflow_depth == 0);
        // Its child does not, but is charged to it.
        CHECK(fixture.find("s3/new/write").overflow_depth == 1);
        CHECK(fixture.check("s3/new/write").quota == "s3/{k}/write#overflow");
    }
}

TEST_CASE("room for a child is not made out of its own parent") {
    Fixture fixture(
        {quota("s3/{k}", {per_minute(20)}), quota("s3/{k}/write", {per_minute(5)}, "s3/{k}"),
         quota("s3/{k}/read", {per_minute(5)}, "s3/{k}")},
        bound(4));
    SUBCASE("a parent without children") {
        CHECK(fixture.admits("s3/mine"));
        CHECK(fixture.admits("s3/1"));
        CHECK(fixture.admits("s3/2"));
        CHECK(fixture.admits("s3/3"));
        fixture.wait(3);
        for (int i = 0; i < 3; ++i) {
            fixture.wait(3);
            CHECK(fixture.find("s3/mine/write").overflow_depth == 0);
            CHECK(fixture.find("s3/mine/read").overflow_depth == 0);
            CHECK(fixture.level("s3/mine") >= 0);
        }
    }
    SUBCASE("a parent whose only child goes for another one") {
        CHECK(fixture.admits("s3/mine/write"));
        CHECK(fixture.admits("s3/busy/write"));
        fixture.wait(3);
        for (int i = 0; i < 3; ++i) {
            CHECK(fixture.admits("s3/busy/write"));
        }
        CHECK(fixture.find("s3/mine/read").overflow_depth == 0);
        CHECK(fixture.level("s3/mine") >= 0);
        CHECK(fixture.level("s3/mine/write") == -1);
        CHECK(fixture.limiter.counters().replaced == 1);
    }
}

TEST_CASE("no flood of names takes an exact name its limits") {
    QuotaDefinition tenant = quota("t/{tenant}", {per_minute(1000)});
    tenant.max_children = 3;
    Fixture fixture({tenant, quota("t/{tenant}/{user}", {per_minute(50)}, "t/{tenant}"),
                     quota("t/x/vip", {per_minute(2)}, "t/x"),
                     quota("t/y/vip", {per_minute(2)}, "t/y"), quota("one", {per_minute(2)})},
                    bound(10));
    flood(fixture, "t/x/", 10);
    flood(fixture, "t/", 10);
    // Their parents are full, or find no room; they are made all the same, with them.
    CHECK(admitted_of(fixture, "t/x/vip", 9) == 2);
    CHECK(admitted_of(fixture, "t/y/vip", 9) == 2);
    CHECK(admitted_of(fixture, "one", 9) == 2);
    CHECK(fixture.level("t/y") == doctest::Approx(2));
    fixture.wait(2);
    flood(fixture, "t/", 30);
    for (const char* name : {"t/x/vip", "t/y/vip", "one"}) {
        CHECK(fixture.level(name) > 0);
    }
}

TEST_CASE("an exact name makes room when it is empty, and comes back beyond the bound") {
    std::vector<QuotaDefinition> definitions = kTwoTemplates;
    for (int i = 0; i < 10; ++i) {
        definitions.push_back(quota(name_of("one", i), {per_second(1)}));
    }
    Fixture fixture(definitions, bound(10));
    for (int i = 0; i < 10; ++i) {
        CHECK(fixture.admits(name_of("one", i)));
    }
    fixture.wait(0.8);  // not empty, nor idle for long enough
    CHECK(fixture.find("a/x").overflow_depth == 1);
    fixture.wait(0.7);
    CHECK(fixture.find("a/x").overflow_depth == 0);
    CHECK(living(fixture, "one", 10) == 9);
    for (int i = 0; i < 10; ++i) {
        CHECK(fixture.find(name_of("one", i)).overflow_depth == 0);
    }
    CHECK(fixture.limiter.memory().instances == 11);
}

TEST_CASE("to make room a bounded number of instances is looked at, whatever lives") {
    constexpr std::uint64_t kMost = 128;
    Fixture fixture(two_levels(), bound(5001));
    std::vector<QuotaDefinition> more;
    for (int i = 0; i < 50; ++i) {
        REQUIRE(fixture.put(quota("more" + std::to_string(i) + "/{k}", {per_minute(5)})).empty());
    }
    for (int i = 0; i < 3000; ++i) {
        const std::string prefix = i < 1000 ? "s3/" : "more" + std::to_string(i % 50) + "/";
        CHECK(fixture.admits(name_of(prefix, i, i < 1000 ? "/write" : "")));
    }
    while (fixture.limiter.memory().instances < 5001) {
        flood(fixture, "s3/", 1);
    }
    for (const char* name : {"s3/x/write", "s3/1/other", "s3/y", "more1/x", "more1/y"}) {
        CAPTURE(name);
        const std::uint64_t before = fixture.limiter.counters().searched;
        (void)fixture.find(name);
        CHECK(fixture.limiter.counters().searched - before <= kMost);
    }
    fixture.wait(2);
    const std::uint64_t before = fixture.limiter.counters().searched;
    CHECK(fixture.find("s3/x/write").overflow_depth == 0);
    CHECK(fixture.limiter.counters().searched - before <= 2 * kMost);
}

TEST_CASE(
    "no more of them are looked at past a template's own cap, with those below them or alone") {
    constexpr std::uint64_t kMost = 128;
    constexpr int kParents = 400;
    Fixture fixture(two_levels(kParents));
    for (int i = 0; i < kParents; ++i) {
        CHECK(fixture.admits(name_of("s3/", i, "/write")));
    }
    std::uint64_t before = fixture.limiter.counters().searched;
    CHECK(fixture.find("s3/new/write").overflow_depth == 2);  // all are in use
    CHECK(fixture.limiter.counters().searched - before <= kMost);
    fixture.wait(2);
    before = fixture.limiter.counters().searched;
    CHECK(fixture.find("s3/new/write").overflow_depth == 0);
    CHECK(fixture.limiter.counters().searched - before <= kMost);
}

TEST_CASE("whatever comes, bounds hold, branches are whole and the root misses nothing") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        constexpr std::uint32_t kBound = 40;
        LimiterOptions options = bound(kBound);
        options.idle_after = std::chrono::seconds(5);
        QuotaDefinition tenant = quota("t/{t}", {per_minute(100)}, "all");
        tenant.max_children = 4;
        QuotaDefinition capped = quota("c/{k}", {per_minute(100)}, "all");
        capped.max_instances = 15;
        Fixture fixture(
            {quota("all", {borders(1e-6, 1e9, 1e9)}), quota("top", {per_second(1e6)}, "all"),
             tenant, capped, quota("t/{t}/{u}", {per_minute(100)}, "t/{t}"),
             quota("t/{t}/{u}/{op}", {per_minute(50)}, "t/{t}/{u}"),
             quota("c/{k}/w", {per_minute(50)}, "c/{k}"), quota("c/3/w", {per_minute(50)}, "c/3")},
            options);
        double admitted = 0;
        for (int step = 0; step < 3000; ++step) {
            const auto one = [&](std::uint64_t most) { return std::to_string(random.below(most)); };
            const std::array names = {"t/" + one(9), "t/" + one(9) + "/" + one(5),
                                      "t/" + one(9) + "/" + one(5) + "/" + one(2), "c/" + one(30),
                                      "c/" + one(30) + "/w"};
            admitted += fixture.admits(names[random.below(names.size())]) ? 1 : 0;
            fixture.limiter.quiescent(fixture.thread);
            if (random.below(10) == 0) {
                fixture.wait(static_cast<double>(random.below(2000)) / 1000);
            }
            if (random.below(100) == 0) {
                fixture.limiter.maintain(fixture.now);
            }
            if (random.below(200) == 0) {  // its instances look for their parents again
                capped.parent = random.below(2) == 0 ? "all" : "top";
                tenant.limits[0].amount = 50 + static_cast<double>(random.below(100));
                REQUIRE(fixture.put(capped).empty());
                REQUIRE(fixture.put(tenant).empty());
            }
            // "all", "top", "c/3" and "c/3/w" come on top.
            REQUIRE(fixture.limiter.memory().instances <= kBound + 4);
        }
        CHECK(fixture.level("all") == doctest::Approx(admitted).epsilon(1e-6));
        CHECK(fixture.limiter.counters().replaced > 0);
        CHECK(fixture.limiter.counters().overflowed > 0);
        for (int t = 0; t < 9; ++t) {
            for (int u = 0; u < 5; ++u) {
                const std::string user = "t/" + std::to_string(t) + "/" + std::to_string(u);
                const bool child =
                    fixture.level(user + "/0") >= 0 || fixture.level(user + "/1") >= 0;
                CHECK((!child || fixture.level(user) >= 0));
                CHECK((fixture.level(user) < 0 || fixture.level(name_of("t/", t)) >= 0));
            }
        }
    }
}

TEST_CASE("threads that flood two trees at once: the root is charged what was admitted") {
    LimiterOptions options = bound(60);
    options.busy_for = Duration(0);
    options.idle_after = std::chrono::milliseconds(50);
    Fixture fixture(
        // One request is more than what counts as empty at the root: it stays the same instance.
        {quota("all", {borders(1e-6, 1e5, 1e5)}), quota("a/{k}", {per_minute(5)}, "all"),
         quota("b/{k}", {per_second(50)}, "all"), quota("b/{k}/w", {per_second(20)}, "b/{k}")},
        options);
    REQUIRE(fixture.admits("all"));
    const LeafId root = fixture.find("all");
    std::atomic<std::int64_t> clock{fixture.now.time_since_epoch().count()};
    std::atomic<double> admitted{1};
    std::atomic<int> running{3};
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            ThreadContext& thread = fixture.limiter.register_thread(seed);
            threads.emplace_back([&, seed] {
                Random random(seed);
                double mine = 0;
                for (int i = 0; i < 15'000; ++i) {
                    const Instant now{Duration(clock.load())};
                    const std::string key = std::to_string(random.below(200));
                    const std::uint64_t kind = random.below(3);
                    const std::string name =
                        (kind == 0 ? "a/" : "b/") + key + (kind == 1 ? "/w" : "");
                    const LeafId leaf = fixture.limiter.find(thread, name, now);
                    mine += fixture.limiter.check(thread, leaf, {}, now, CheckMode::charge).admitted
                                ? 1
                                : 0;
                    fixture.limiter.quiescent(thread);
                }
                limiter::add(admitted, mine);
                --running;
            });
        }
        while (running > 0) {
            clock += 10'000'000;
            fixture.limiter.maintain(Instant(Duration(clock.load())));
            std::this_thread::yield();
        }
    }
    fixture.now = Instant(Duration(clock.load()));
    CHECK((fixture.find("all") == root));
    CHECK(fixture.level("all") == doctest::Approx(admitted.load()).epsilon(1e-6));
    CHECK(fixture.limiter.memory().instances <= 61);
    CHECK(fixture.limiter.counters().replaced > 0);
}
