// When an origin tells of quiet limits, and to whom; with a real limiter.
#include "sync/quiet_limits.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sync/quiet_fixture.h"

namespace weir::sync {
namespace {

using test::kPlace;
using test::member;
using test::quota;
using Origin = test::QuietOrigin;

LimitKey key_of(std::string_view name) { return test::quiet_key(name); }

TEST_CASE_FIXTURE(Origin, "first use is told within a quarter of the time that fills the limit") {
    define("q", 100);
    use("q");
    pass(200ms);
    CHECK(sent.empty());
    pass(100ms);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].first == member(0));
    const QuietEntry& entry = sent[0].second;
    CHECK(entry.key == key_of("q"));
    CHECK(entry.admitted == 1);
    CHECK(entry.limit_rate == 100);
    CHECK(entry.low == 100);
}

TEST_CASE_FIXTURE(
    Origin, "first use of a limit that drains for long is told at once, and what follows soon") {
    define_slow("q");
    use("q");
    pass(20ms);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.admitted == 1);
    CHECK(sent[0].second.low == 12);
    use("q");
    pass(900ms);
    CHECK(sent.size() == 1);
    pass(200ms);
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].second.admitted == 2);
    pass(5s);
    CHECK(sent.size() == 2);
}

TEST_CASE_FIXTURE(Origin,
                  "below its share an origin says nothing more for 30 s, then that it is there") {
    define("q", 100);
    use("q");
    pass(1s);
    REQUIRE(sent.size() == 1);
    for (int second = 0; second < 27; ++second) {  // a share is 12.5, and drains by that in 1 s
        use("q", 10);
        pass(1s);
    }
    CHECK(sent.size() == 1);
    for (int second = 0; second < 5; ++second) {
        use("q", 10);
        pass(1s);
    }
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].second.place == kPlace);
    CHECK(sent[1].second.admitted > 250);
    CHECK(sent[1].second.untold <= 12.5);
    place = 0;  // an owner that does not say where it has the limit
    for (int second = 0; second < 70; ++second) {
        use("q", 10);
        pass(1s);
    }
    REQUIRE(sent.size() == 4);
    CHECK(sent[3].second.place == 0);
    CHECK(sent[3].second.limit_rate == 100);  // the owner may have forgotten it by now
}

TEST_CASE_FIXTURE(Origin,
                  "a share that is full is told within 50 ms, one that is full twice at once") {
    define("q", 100);
    use("q");
    pass(1s);
    sent.clear();
    use("q", 5);
    pass(50ms);
    CHECK(sent.empty());
    use("q", 3);
    pass(10ms);
    use("q", 3);
    pass(10ms);
    use("q", 3);
    pass(50ms);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.untold > 12.5 - 100 / 8.0 * 0.05);
    pass(1s);
    sent.clear();
    use("q", 26);
    pass(10ms);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.untold > 25);
    CHECK(sent[0].second.admitted == 1 + 5 + 9 + 26);
}

TEST_CASE_FIXTURE(
    Origin,
    "what is not confirmed is sent again with pauses that grow, and at last all owners are asked") {
    answers = false;
    define("q", 100);
    use("q", 60);
    pass(10ms);
    REQUIRE(sent.size() == 1);
    // Its confirmation may wait for 80 ms. Later pauses are longer than that.
    for (const Duration pause : {140ms, 140ms, 140ms, 240ms, 480ms}) {
        const std::size_t before = sent.size();
        pass(pause - 10ms);
        CHECK(sent.size() == before);
        pass(10ms);
        CHECK(sent.size() == before + 1);
    }
    CHECK(sent[3].second.limit_rate == 100);
    CHECK(stuck.empty());
    pass(1s);
    REQUIRE(stuck.size() >= 1);
    CHECK(stuck[0] == key_of("q"));
    CHECK(sent.size() == 6);
    CHECK(statistics.quiet_resent == 5);
    const auto taken = quiet.take(key_of("q"), now);
    REQUIRE(taken);
    CHECK(taken->share.admitted == 60);
    CHECK(quiet.size() == 0);
}

TEST_CASE_FIXTURE(Origin,
                  "a share that fills anew does not wait for as long as a confirmation may") {
    answers = false;
    define("q", 100);
    use("q", 60);
    pass(10ms);
    REQUIRE(sent.size() == 1);
    use("q", 14);
    pass(50ms);
    CHECK(sent.size() == 1);
    pass(10ms);
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].second.admitted == 74);
}

TEST_CASE_FIXTURE(Origin,
                  "what nobody confirms is given up after a minute, until it is used again") {
    answers = false;
    define_slow("q");
    use("q");
    pass(50s);
    CHECK(sent.size() == 11);
    CHECK(statistics.quiet_given_up == 0);
    pass(600s);
    CHECK(sent.size() == 11);
    CHECK(statistics.quiet_given_up == 1);
    REQUIRE(quiet.find(key_of("q")) != nullptr);
    for (int i = 0; i < 60; ++i) {  // asks in each second, and is not counted
        const auto leaf = limiter.find(thread, "q", now);
        static_cast<void>(limiter.check(thread, leaf, {}, now, limiter::CheckMode::peek));
        limiter.quiescent(thread);
        pass(1s);
    }
    CHECK(sent.size() >= 12);
    CHECK(sent.size() <= 13);
    answers = true;
    pass(60s);
    CHECK(quiet.find(key_of("q"))->known);
}

TEST_CASE_FIXTURE(Origin,
                  "an owner that said where it has the limit is told by the place, and no other") {
    define_slow("q");
    const auto tell = [this] {
        use("q");
        pass(31s);
        return sent.back().second;
    };
    CHECK(tell().place == 0);
    const QuietEntry second = tell();
    CHECK(second.admitted == 2);
    CHECK(second.place == kPlace);
    CHECK(second.limit_rate == 0);
    CHECK(second.low == 0);
    // The owner does not find it there any more: all is told again, soon. An old answer changes
    // nothing.
    use("q");
    pass(5s);
    std::size_t before = sent.size();
    quiet.forget_place({second.key, second.run, kPlace + 1, second.admitted}, now);
    pass(50ms);
    CHECK(sent.size() == before);
    quiet.forget_place(said(second), now);
    pass(50ms);
    REQUIRE(sent.size() == before + 1);
    CHECK(sent.back().second.place == 0);
    CHECK(sent.back().second.low == 12);
    pass(31s);
    CHECK(tell().place == kPlace);
    // By then the owner may have forgotten it.
    pass(61s);
    CHECK(tell().place == 0);
    pass(1s);
    CHECK(tell().place == kPlace);
    // Another first owner knows nothing of places.
    owners.recompute(std::vector<membership::OwnerCandidate>{{member(5), {}}});
    quiet.owners_changed(membership::bit_of(membership::shard_of(key_of("q").quota)), now);
    before = sent.size();
    pass(1s);
    REQUIRE(sent.size() > before);
    CHECK(sent[before].first == member(5));
    CHECK(sent[before].second.place == 0);
}

TEST_CASE_FIXTURE(Origin,
                  "what was under way when the definition changed confirms the former one") {
    define("q", 100);
    use("q");
    pass(1s);
    REQUIRE(sent.size() == 1);
    answers = false;
    use("q", 30);
    pass(50ms);
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].second.place == kPlace);
    define("q", 50);
    quiet.refresh_parameters(now);
    quiet.acknowledge(said(sent[1].second), now);
    answers = true;
    pass(1s);
    REQUIRE(sent.size() == 3);
    CHECK(sent[2].second.place == kPlace);
    CHECK(sent[2].second.limit_rate == 50);
    use("q", 30);
    pass(1s);
    REQUIRE(sent.size() == 4);
    CHECK(sent[3].second.limit_rate == 0);
}

TEST_CASE_FIXTURE(Origin, "after a change of owners the former one's confirmation is waited for") {
    answers = false;
    define("q", 100);
    use("q", 60);
    pass(10ms);
    REQUIRE(sent.size() == 1);
    owners.recompute(std::vector<membership::OwnerCandidate>{{member(5), {}}});
    quiet.owners_changed(membership::bit_of(membership::shard_of(key_of("q").quota)), now);
    pass(130ms);
    CHECK(sent.size() == 1);
    pass(20ms);
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].first == member(5));
}

TEST_CASE_FIXTURE(Origin, "a new first owner is told what has not drained") {
    define("q", 100);
    use("q", 60);
    pass(100ms);
    const std::size_t before = sent.size();
    quiet.owners_changed(0xffff, now);
    pass(600ms);
    REQUIRE(sent.size() == before + 1);
    // 60 less what drains at a quarter of the rate in up to 0.7 s.
    CHECK(sent.back().second.untold > 60 - 25 * 0.75);
    CHECK(sent.back().second.untold < 60);
    CHECK(sent.back().second.low == 100);
}

TEST_CASE_FIXTURE(Origin,
                  "what the former first owner confirms late is not fresh for the new one") {
    define("q", 100);
    answers = false;
    use("q", 60);
    pass(20ms);
    REQUIRE(sent.size() == 1);
    const QuietEntry told = sent.front().second;
    quiet.owners_changed(0xffff, now);
    quiet.acknowledge_former({told.key, told.run + 1, 0, told.admitted}, now);  // of another run
    CHECK(quiet.find(told.key)->share.fresh > 50);
    quiet.acknowledge_former(said(told), now);
    use("q", 3);
    pass(600ms);
    REQUIRE(sent.size() > 1);
    CHECK(sent.back().second.fresh <= 3);
    CHECK(sent.back().second.untold > 45);
}

TEST_CASE_FIXTURE(Origin,
                  "a tick tells of two thousand limits, first of those that are full twice") {
    constexpr int kNames = 5000;
    define("k/{key}", 100);
    for (int i = 0; i < kNames; ++i) {
        use("k/" + std::to_string(i));
    }
    while (sent.empty()) {
        pass(10ms);
    }
    CHECK(sent.size() == 2000);
    int full = 0;
    while (quiet.find(key_of("k/" + std::to_string(full)))->known) {
        ++full;
    }
    use("k/" + std::to_string(full), 30);
    pass(10ms);
    REQUIRE(sent.size() == 4000);
    CHECK(sent[2000].second.key == key_of("k/" + std::to_string(full)));
    pass(10ms);
    CHECK(sent.size() == kNames);
}

TEST_CASE_FIXTURE(Origin,
                  "limits that nobody uses go when they have drained, and cost nothing before") {
    for (int i = 0; i < 50; ++i) {
        define("q" + std::to_string(i), 100);
        use("q" + std::to_string(i));
    }
    pass(1s);
    CHECK(quiet.size() == 50);
    CHECK(sent.size() == 50);
    sent.clear();
    pass(130s);
    CHECK(sent.empty());
    CHECK(quiet.size() == 0);
}

TEST_CASE_FIXTURE(Origin, "an origin that only asks is told of, too") {
    define("q", 100);
    const auto leaf = limiter.find(thread, "q", now);
    static_cast<void>(limiter.check(thread, leaf, {}, now, limiter::CheckMode::peek));
    limiter.quiescent(thread);
    pass(300ms);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.admitted == 0);
    CHECK(sent[0].second.untold == 0);
}

TEST_CASE_FIXTURE(Origin, "the largest number of members of the last minute counts") {
    CHECK(quiet.shares() == 4);
    quiet.set_members(2, now);
    CHECK(quiet.shares() == 4);
    for (int second = 0; second < 70; ++second) {
        now += 1s;
        quiet.set_members(2, now);
    }
    CHECK(quiet.shares() == 2);
    quiet.set_members(9, now);
    CHECK(quiet.shares() == 16);
}

}  // namespace
}  // namespace weir::sync
