// What an edit asks of instances that live already, and there may be no room for: parents, and
// records for limits that it adds.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

using namespace std::chrono_literals;

/// `amount` in so many hours, with the whole of it as a hard edge.
RateLimit hours(int period, double amount) {
    RateLimit limit;
    limit.amount = amount;
    limit.period = period * 1h;
    limit.low = BurstSpec{BurstSpec::Kind::amount, amount};
    limit.high = limit.low;
    return limit;
}

std::string name_of(const std::string& prefix, int i) { return prefix + std::to_string(i); }

QuotaDefinition capped(std::string name, double amount, std::uint32_t most,
                       std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition = quota(std::move(name), {hours(1, amount)}, std::move(parent));
    definition.max_instances = most;
    return definition;
}

std::size_t waiting(Fixture& fixture) { return fixture.limiter.memory().awaiting_room; }

void upkeep(Fixture& fixture, int times = 1) {
    for (int i = 0; i < times; ++i) {
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
}

int admitted_of(Fixture& fixture, const std::string& name, int requests) {
    int admitted = 0;
    for (int i = 0; i < requests; ++i) {
        admitted += fixture.admits(name) ? 1 : 0;
    }
    return admitted;
}

/// So many names, so often each.
int admitted_of_all(Fixture& fixture, const std::string& prefix, int names, int requests) {
    int admitted = 0;
    for (int i = 0; i < names; ++i) {
        admitted += admitted_of(fixture, name_of(prefix, i), requests);
    }
    return admitted;
}

void edit(Fixture& fixture, const QuotaDefinition& definition) {
    REQUIRE(fixture.put(definition).empty());
}

}  // namespace

TEST_CASE("a limit that an edit adds while no record is free is counted, and holds when one is") {
    constexpr int kNames = 2000;
    LimiterOptions options = Fixture::small();
    options.max_instances = 2 * kNames;  // with 5,096 records on top
    Fixture fixture({quota("k/{key}", {hours(1, 100)}), quota("other/{key}", {hours(1, 1)})},
                    options);
    REQUIRE(admitted_of_all(fixture, "k/", kNames, 1) == kNames);
    REQUIRE(admitted_of_all(fixture, "other/", kNames, 1) == kNames);
    CHECK(waiting(fixture) == 0);
    edit(fixture, quota("k/{key}", {hours(1, 100), hours(2, 100), hours(3, 100), hours(4, 1)}));
    const auto lacking = static_cast<int>(waiting(fixture)) - 1;  // and the overflow instance
    REQUIRE(lacking > 0);
    REQUIRE(lacking < kNames);
    CHECK(admitted_of_all(fixture, "k/", kNames, 2) == kNames + lacking);
    upkeep(fixture, 100);
    CHECK(waiting(fixture) == static_cast<std::size_t>(lacking) + 1);  // nothing was freed
    SUBCASE("freed by others") {
        REQUIRE(fixture.take_away("other/{key}").empty());
        upkeep(fixture, 5);
        CHECK(waiting(fixture) == 0);
        CHECK(admitted_of_all(fixture, "k/", kNames, 2) == lacking);  // of an empty bucket
        CHECK(admitted_of_all(fixture, "k/", kNames, 2) == 0);
    }
    SUBCASE("freed by some of themselves: nobody waits for who is gone") {
        fixture.wait(3 * 3600.0 * 100);
        while (waiting(fixture) != 0) {
            const std::size_t before = waiting(fixture);
            upkeep(fixture, 10);
            REQUIRE(waiting(fixture) < before);
        }
    }
    SUBCASE("not needed any more") {
        edit(fixture, quota("k/{key}", {hours(1, 100)}));
        upkeep(fixture, 5);
        CHECK(waiting(fixture) == 0);
    }
}

TEST_CASE("instances that an edit gives a parent for which there is no room have it later") {
    Fixture fixture({quota("root", {borders(1e-6, 1e9, 1e9)}), capped("p/{key}", 3, 2, "root"),
                     quota("k/{key}", {hours(1, 100)})});
    REQUIRE(admitted_of_all(fixture, "k/", 5, 1) == 5);
    edit(fixture, quota("k/{key}", {hours(1, 100)}, "p/{key}"));
    CHECK(waiting(fixture) == 3);
    // Two have a parent of their own, three share one with ten times the limit.
    CHECK(admitted_of_all(fixture, "k/", 5, 20) == 2 * 3 + 30);
    CHECK(fixture.level("root") == doctest::Approx(36));
    upkeep(fixture, 20);
    CHECK(waiting(fixture) == 3);
    CHECK(admitted_of_all(fixture, "k/", 5, 20) == 0);
    SUBCASE("there is room for all of them") {
        edit(fixture, capped("p/{key}", 3, 100, "root"));
        upkeep(fixture);
        CHECK(waiting(fixture) == 0);
        CHECK(admitted_of_all(fixture, "k/", 5, 20) == 3 * 3);
        CHECK(fixture.level("p/4") == doctest::Approx(3));
        CHECK(fixture.level("root") == doctest::Approx(45));
    }
    SUBCASE("there is room for one when another one is idle and goes") {
        REQUIRE(fixture.take_away("k/{key}").empty());  // with those that wait
        upkeep(fixture);
        CHECK(waiting(fixture) == 0);
    }
    SUBCASE("another template takes the place of theirs, with the overflow instance") {
        const DefinitionChange changes[] = {{"{any}/{key}", capped("{any}/{key}", 4, 100, "root")},
                                            {"p/{key}", std::nullopt}};
        REQUIRE(fixture.limiter.change(changes, fixture.now) == 0);
        CHECK(admitted_of_all(fixture, "k/", 5, 20) == 2 * 1 + 3 * 4);
        CHECK(fixture.level("root") == doctest::Approx(36 + 14));
        upkeep(fixture);
        CHECK(waiting(fixture) == 0);
    }
}

TEST_CASE("a parent that comes in the same change as the word of it is found") {
    Fixture fixture({quota("k/{key}", {hours(1, 100)})});
    REQUIRE(fixture.admits("k/1"));
    const std::vector<QuotaDefinition> all = {quota("p/{key}", {hours(1, 3)}),
                                              quota("k/{key}", {hours(1, 100)}, "p/{key}")};
    SUBCASE("as a set") { REQUIRE(fixture.replace(all).empty()); }
    SUBCASE("as changes") {
        const DefinitionChange changes[] = {{"p/{key}", all[0]}, {"k/{key}", all[1]}};
        REQUIRE(fixture.limiter.change(changes, fixture.now) == 0);
    }
    CHECK(admitted_of(fixture, "k/1", 20) == 3);
    CHECK(fixture.level("p/1") == doctest::Approx(3));
}

TEST_CASE("a template's overflow instance follows when its template has another parent") {
    Fixture fixture(
        {capped("a/{key}", 1000, 1), capped("b/{key}", 1, 1), capped("k/{key}", 5, 1, "a/{key}")});
    REQUIRE(fixture.admits("k/1"));
    CHECK(admitted_of(fixture, "k/2", 20) == 20);
    edit(fixture, capped("k/{key}", 5, 1, "b/{key}"));
    CHECK(admitted_of(fixture, "k/3", 100) == 10);  // those of b, ten times
    SUBCASE("and forgets the former one, which may be somebody else soon") {
        REQUIRE(fixture.take_away("a/{key}").empty());
        upkeep(fixture, 3);
        edit(fixture, quota("new", {hours(1, 0)}));
        CHECK_FALSE(fixture.admits("new"));
        edit(fixture, capped("b/{key}", 3, 1));
        CHECK(admitted_of(fixture, "k/4", 100) == 20);
    }
}

TEST_CASE("instances that threads make while an edit adds a limit have it too") {
    constexpr int kThreads = 2;
    constexpr int kEdits = 20;
    constexpr int kNamesPerEdit = 100;
    LimiterOptions options = Fixture::small();
    options.max_instances = 60'000;
    Fixture fixture({quota("k/{key}", {hours(1, 1000)})}, options);
    // So many that an edit visits them piece by piece.
    REQUIRE(admitted_of_all(fixture, "k/", 500, 1) == 500);
    std::atomic<int> allowed{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
        ThreadContext& thread = fixture.limiter.register_thread(static_cast<std::uint64_t>(i));
        threads.emplace_back([&fixture, &allowed, &thread, i] {
            const std::string prefix = name_of("k/", i) + "-";
            for (int name = 0; name < kEdits * kNamesPerEdit; ++name) {
                while (name >= allowed) {
                    std::this_thread::yield();
                }
                (void)fixture.limiter.find(thread, name_of(prefix, name), fixture.now);
                fixture.limiter.quiescent(thread);
            }
        });
    }
    int without = 0;
    for (int period = 2; period < 2 + kEdits; ++period) {
        allowed += kNamesPerEdit;
        const auto errors = fixture.put(quota("k/{key}", {hours(1, 1000), hours(period, 1000)}));
        CHECK(errors.empty());
        for (int i = 0; i < kThreads; ++i) {
            for (int name = 0; name < allowed; ++name) {
                const std::string key = name_of(name_of("k/", i) + "-", name);
                const std::size_t limits = fixture.limiter.inspect(key, fixture.now).size();
                without += limits == 1 ? 1 : 0;  // 0: it is not made yet
            }
        }
    }
    threads.clear();
    CHECK(without == 0);
    CHECK(waiting(fixture) == 0);
}

TEST_CASE(
    "names that are used while the change that brings them and their parent is made have it") {
    constexpr int kNames = 4000;
    LimiterOptions options = Fixture::small();
    options.max_instances = 3 * kNames;
    Fixture fixture({quota("other", {hours(1, 1)})}, options);
    std::vector<QuotaDefinition> all = {quota("p/{key}", {hours(1, 3)})};
    for (int i = 0; i < kNames; ++i) {
        all.push_back(quota(name_of("e", i), {hours(1, 1000)}, "p/1"));
    }
    std::atomic<bool> begun{false};
    std::atomic<bool> made{false};
    ThreadContext& thread = fixture.limiter.register_thread(1);
    // Again and again: some are looked for when they are known already and their parent is not.
    std::jthread user([&] {
        for (int i = 0; !made; i = (i + 1) % kNames) {
            (void)fixture.limiter.find(thread, name_of("e", i), fixture.now);
            fixture.limiter.quiescent(thread);
            begun = true;
        }
    });
    while (!begun) {
        std::this_thread::yield();
    }
    CHECK(fixture.replace(all).empty());
    made = true;
    user.join();
    CHECK(admitted_of_all(fixture, "e", kNames, 1) == 3);
}

TEST_CASE("a client's name that reads like an overflow instance's stays the client's") {
    Fixture fixture({capped("a/{key}", 1000, 3), capped("b/{key}", 1000, 3),
                     capped("k/{key}", 1, 2, "a/{key}")});
    const std::string name = "k/{key}#overflow";
    CHECK(admitted_of(fixture, name, 5) == 1);
    REQUIRE(fixture.admits("k/1"));
    REQUIRE(fixture.admits("k/2"));  // of the overflow instance
    edit(fixture, capped("k/{key}", 1, 2, "b/{key}"));
    CHECK(admitted_of(fixture, name, 5) == 0);
}
