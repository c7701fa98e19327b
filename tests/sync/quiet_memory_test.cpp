// How many quiet limits an origin keeps, and which ones it forgets; with a real limiter.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sync/quiet_fixture.h"

namespace weir::sync {
namespace {

using Origin = test::QuietOrigin;

LimitKey key_of(std::string_view name) { return test::quiet_key(name); }

TEST_CASE_FIXTURE(Origin, "a full table makes room for what is used by dropping what has drained") {
    settings.maximum_quiet_limits = 8;
    define("k/{key}", 100);
    for (int i = 0; i < 8; ++i) {
        use("k/" + std::to_string(i));
    }
    pass(10ms);
    use("k/new");
    pass(10ms);
    CHECK(quiet.size() == 8);
    CHECK(quiet.find(key_of("k/new")) == nullptr);  // all others are still counted
    pass(1s);
    use("k/new");
    pass(10ms);
    CHECK(quiet.find(key_of("k/new")) != nullptr);
    CHECK(quiet.size() == 8);
    CHECK(statistics.room_made == 1);
}

TEST_CASE_FIXTURE(Origin,
                  "in a table that is full of slow limits, those that nobody uses make room") {
    settings.maximum_quiet_limits = 8;
    define_slow("k/{key}");
    for (int i = 0; i < 8; ++i) {
        use("k/" + std::to_string(i));
    }
    pass(25s);
    use("k/new");
    pass(10ms);
    CHECK(quiet.find(key_of("k/new")) == nullptr);  // all others were used a moment ago
    pass(10s);
    sent.clear();
    use("k/new");
    pass(10ms);
    REQUIRE(quiet.find(key_of("k/new")) != nullptr);
    CHECK(quiet.size() == 8);
    CHECK(statistics.room_made == 1);
    // The one that went is told of with its new weight only: the owner knows the rest.
    int gone = 0;
    while (gone < 8 && quiet.find(key_of("k/" + std::to_string(gone))) != nullptr) {
        ++gone;
    }
    REQUIRE(gone < 8);
    use("k/" + std::to_string(gone));
    pass(2s);
    const QuietLimit* again = quiet.find(key_of("k/" + std::to_string(gone)));
    REQUIRE(again != nullptr);
    CHECK(again->share.admitted == 1);
    CHECK(again->share.own > 1);  // a new first owner is told all of it
}

TEST_CASE_FIXTURE(Origin,
                  "what the owner of a limit does not know is told before the limit makes room") {
    settings.maximum_quiet_limits = 1;
    define_slow("k/{key}");
    use("k/a");
    pass(2s);
    use("k/a");  // nothing is due for it
    pass(90s);
    REQUIRE(sent.size() >= 1);
    CHECK(sent.back().second.admitted == 1);
    sent.clear();
    use("k/b");
    pass(10ms);
    CHECK(quiet.find(key_of("k/b")) == nullptr);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.key == key_of("k/a"));
    CHECK(sent[0].second.admitted == 2);
    use("k/b");
    pass(10ms);
    CHECK(quiet.find(key_of("k/b")) != nullptr);
    CHECK(quiet.find(key_of("k/a")) == nullptr);
}

TEST_CASE_FIXTURE(Origin,
                  "a limit that is hardly filled is forgotten when it is not used any more") {
    define_slow("k/{key}", 100);
    use("k/a", 6);
    use("k/b", 7);  // a quarter of what the four may have together is 6.25 each
    pass(25s);
    CHECK(quiet.size() == 2);
    pass(30s);
    REQUIRE(quiet.size() == 1);
    CHECK(quiet.find(key_of("k/b")) != nullptr);
    // The owner knows of the six, and is told of what is new.
    sent.clear();
    use("k/a", 2);
    pass(20ms);
    CHECK(sent.size() == 1);  // at once: who has forgotten a limit has followed no order to wake it
    pass(2s);
    const QuietLimit* again = quiet.find(key_of("k/a"));
    REQUIRE(again != nullptr);
    CHECK(again->share.admitted == 2);
    // A new first owner is told of all eight, but what was forgotten is kept rounded up.
    CHECK(again->share.own >= 8 - 0.01);
    CHECK(again->share.own <= 6 * 1.05 + 2);
    REQUIRE(!sent.empty());
    CHECK(sent.back().second.admitted == 2);
    CHECK(sent.back().second.untold <= 2);
}

TEST_CASE_FIXTURE(Origin, "what the owner does not know yet is not forgotten") {
    answers = false;
    define_slow("q", 100);
    use("q");
    pass(60s);
    CHECK(quiet.size() == 1);
    answers = true;
    use("q");
    pass(60s);
    CHECK(quiet.size() == 0);
}

TEST_CASE_FIXTURE(Origin, "what is forgotten time and again does not add up") {
    define_slow("q");
    const double forgotten = 12.0 / 4 / 4;  // a quarter of what each of four may have
    double whole = 0;                       // what a new first owner is told without forgetting
    for (int round = 0; round < 3; ++round) {
        use("q");
        pass(10ms);
        whole += 1;
        pass(3h, 1s);  // an eighth of the limit has drained, and of what is told less
        whole -= 12.0 / 8 / 4;
        CHECK(quiet.size() == (whole <= forgotten ? 0 : 1));
    }
    use("q");
    pass(2s);
    REQUIRE(quiet.size() == 1);
    whole += 1;
    sent.clear();
    quiet.owners_changed(0xffff, now);
    pass(1s);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.untold > whole - 0.01);
    CHECK(sent[0].second.untold < 1.1 * whole);
    // Its level has drained at the full rate, whatever was forgotten.
    CHECK(sent[0].second.untold_full == doctest::Approx(1).epsilon(0.01));
}

/// Uses the limit and leaves it to the test to say so to the quiet limits.
limiter::LimitRef used(Origin& origin, std::string_view name, int times = 1) {
    origin.use(name, times);
    limiter::LimitRef ref;
    origin.limiter.drain_active([&](limiter::LimitRef active) { ref = active; });
    REQUIRE(origin.limiter.identity(ref));
    return ref;
}

/// When all limits are forgotten whose owner knows of them, this slow one takes the only place.
void fill_when_forgotten(Origin& origin, std::string_view name) {
    origin.settings.maximum_quiet_limits = 1;
    origin.pass(60s);
    REQUIRE(origin.quiet.size() == 0);
    origin.use(name, 7);  // of 100: too many to be forgotten
    origin.pass(10ms);
}

TEST_CASE_FIXTURE(Origin, "what a full table has no room for is told when it has") {
    define_slow("k/{key}", 100);
    use("k/a", 6);
    fill_when_forgotten(*this, "k/b");
    use("k/a", 2);
    pass(10ms);
    CHECK(quiet.find(key_of("k/a")) == nullptr);
    use("k/c", 3);
    pass(10ms);
    CHECK(quiet.find(key_of("k/c")) == nullptr);
    pass(35s);
    use("k/a");
    pass(2s);
    REQUIRE(quiet.find(key_of("k/a")) != nullptr);
    CHECK(quiet.find(key_of("k/a"))->share.admitted == 3);
    pass(35s);
    use("k/c");
    pass(2s);
    REQUIRE(quiet.find(key_of("k/c")) != nullptr);
    CHECK(quiet.find(key_of("k/c"))->share.admitted == doctest::Approx(4).epsilon(0.03));
}

TEST_CASE_FIXTURE(Origin, "what has drained before a full table has room is not told") {
    define("k", 100);
    define_slow("s/{key}", 100);
    use("k");
    fill_when_forgotten(*this, "s/a");
    for (int second = 0; second < 5; ++second) {
        use("k", 50);
        pass(1s);
    }
    CHECK(quiet.find(key_of("k")) == nullptr);
    pass(35s);
    use("k");
    pass(10ms);
    REQUIRE(quiet.find(key_of("k")) != nullptr);
    CHECK(quiet.find(key_of("k"))->share.admitted >= 1);
    CHECK(quiet.find(key_of("k"))->share.admitted < 3);
}

TEST_CASE_FIXTURE(Origin, "what a new first owner does not know is not forgotten") {
    define_slow("q", 100);
    const limiter::LimitRef ref = used(*this, "q", 3);
    REQUIRE(limiter.take_unviewed(ref, now)->admitted == 3);
    // As after a time awake: all of its level is known to its owners, and nothing was admitted.
    quiet.fall_quiet(ref, key_of("q"), limiter.identity(ref)->parameters, now);
    answers = false;
    quiet.owners_changed(0xffff, now);
    pass(60s);
    REQUIRE(quiet.size() == 1);
    CHECK(quiet.find(key_of("q"))->share.admitted == 0);
    sent.clear();
    quiet.tell_all(owners, now, *this);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second.untold == doctest::Approx(3).epsilon(0.01));
    answers = true;
    pass(90s);
    CHECK(quiet.size() == 0);
}

/// Lets the limiter drop the only instance there is, so that the next one has its record.
void let_go(Origin& origin, std::string_view name) {
    origin.now += 49h;
    for (int i = 0; i < 100 && !origin.limiter.inspect(name, origin.now).empty(); ++i) {
        origin.limiter.quiescent(origin.thread);
        origin.limiter.maintain(origin.now);
        origin.now += 1s;
    }
    origin.limiter.maintain(origin.now);
    REQUIRE(origin.limiter.inspect(name, origin.now).empty());
}

bool meet(Origin& origin, limiter::LimitRef ref, std::string_view name) {
    const auto identity = origin.limiter.identity(ref);
    REQUIRE(identity);
    return origin.quiet.meet(ref, key_of(name), identity->parameters, origin.now);
}

TEST_CASE_FIXTURE(Origin, "another limit with the record of a forgotten one is not taken for it") {
    define_slow("k/{key}", 100);
    use("k/a");
    pass(10ms);
    const limiter::LimitRef of_first = quiet.find(key_of("k/a"))->ref;
    pass(55s);
    REQUIRE(quiet.size() == 0);
    let_go(*this, "k/a");
    // What is admitted before the engine has looked at it for the first time is told, too.
    const limiter::LimitRef ref = used(*this, "k/b");
    REQUIRE(ref.record == of_first.record);
    REQUIRE(ref != of_first);
    REQUIRE(limiter.take_unviewed(ref, now)->admitted == 1);
    REQUIRE(meet(*this, ref, "k/b"));
    CHECK(quiet.find(key_of("k/b"))->share.admitted == 1);
}

TEST_CASE_FIXTURE(Origin, "a limit whose record has another one by now leaves that alone") {
    define_slow("k/{key}", 100);
    use("k/a", 7);
    pass(10ms);
    const limiter::LimitRef of_first = quiet.find(key_of("k/a"))->ref;
    let_go(*this, "k/a");
    REQUIRE(quiet.find(key_of("k/a")) != nullptr);  // nothing has looked at it since
    const limiter::LimitRef ref = used(*this, "k/b");
    REQUIRE(ref.record == of_first.record);
    CHECK_FALSE(quiet.touch(ref, now));
    REQUIRE(meet(*this, ref, "k/b"));
    CHECK(quiet.size() == 2);
    REQUIRE(quiet.take(key_of("k/a"), now).has_value());
    CHECK(quiet.size() == 1);
    CHECK(quiet.touch(ref, now));
    use("k/b", 2);
    pass(10ms);
    CHECK(quiet.find(key_of("k/b"))->share.admitted == 3);
    CHECK(quiet.size() == 1);
}

TEST_CASE_FIXTURE(Origin, "a limit whose record has another one by now leaves what that left") {
    settings.maximum_quiet_limits = 2;
    define_slow("k/{key}", 100);
    use("k/a", 99);
    pass(2s);
    const limiter::LimitRef of_first = quiet.find(key_of("k/a"))->ref;
    let_go(*this, "k/a");
    const limiter::LimitRef ref = used(*this, "k/b");
    REQUIRE(ref.record == of_first.record);
    REQUIRE(meet(*this, ref, "k/b"));
    pass(55s);
    REQUIRE(quiet.size() == 1);  // the second one is forgotten first
    REQUIRE(quiet.find(key_of("k/a")) != nullptr);
    CHECK(quiet.was_dismissed(ref));
    pass(49h, 1s);
    REQUIRE(quiet.size() == 0);
    CHECK(quiet.was_dismissed(ref));
    CHECK_FALSE(quiet.was_dismissed(of_first));
}

TEST_CASE_FIXTURE(Origin, "a limit with more given back than told waits until that has drained") {
    define_slow("q", 2000);
    const auto leaf = limiter.find(thread, "q", now);
    double told = 0;
    for (int round = 0; round < 4; ++round) {
        std::vector<limiter::Charge> charges;
        for (int i = 0; i < 100; ++i) {
            charges.push_back(
                limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).charge);
        }
        limiter.quiescent(thread);
        pass(2s);
        for (const limiter::Charge& charge : charges) {
            limiter.refund(thread, charge, now);
        }
        use("q");
        pass(240s, 100ms);
    }
    for (const auto& [owner, entry] : sent) {
        told = std::max(told, entry.admitted);
    }
    // One run, in which what was given back is taken for what comes next.
    CHECK(quiet.find(key_of("q")) != nullptr);
    CHECK(told < 130);
}

TEST_CASE_FIXTURE(Origin, "what waits for an answer goes on waiting in another slot") {
    answers = false;
    define("k/{key}", 100);
    use("k/a");
    pass(10ms);
    use("k/b");
    pass(500ms);
    CHECK(quiet.find(key_of("k/b"))->tries > 0);
    sent.clear();
    REQUIRE(quiet.take(key_of("k/a"), now).has_value());
    pass(2s);
    REQUIRE(!sent.empty());
    for (const auto& [owner, entry] : sent) {
        CHECK(entry.key == key_of("k/b"));
    }
}

/// A sidecar that is the first owner itself: what it tells itself may wake limits at once.
struct OwnOrigin : Origin {
    void send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) override {
        for (const std::string_view name : wakes) {
            woken += quiet.take(key_of(name), now) ? 1 : 0;
        }
        Origin::send_quiet(owner, entry);
    }
    std::vector<std::string_view> wakes;
    int woken = 0;
};

TEST_CASE_FIXTURE(OwnOrigin, "limits that wake while others are told leave those in the table") {
    define("k/{key}", 100);
    wakes = {"k/0", "k/3", "k/6"};
    for (int i = 0; i < 7; ++i) {
        use("k/" + std::to_string(i));
    }
    SUBCASE("in a tick") {
        pass(2s);
        CHECK(sent.size() == 5);  // the first one, and the four that have not woken with it
    }
    SUBCASE("in all that is told on leaving") {
        wakes.clear();
        pass(10ms);
        wakes = {"k/0", "k/3", "k/6"};
        sent.clear();
        quiet.tell_all(owners, now, *this);
        CHECK(sent.size() == 5);
    }
    CHECK(woken == 3);
    CHECK(quiet.size() == 4);
    for (const int i : {1, 2, 4, 5}) {
        const auto told = std::count_if(sent.begin(), sent.end(), [&](const auto& each) {
            return each.second.key == key_of("k/" + std::to_string(i));
        });
        CHECK(told == 1);
    }
}

TEST_CASE_FIXTURE(Origin, "memory is given back when fewer limits are used") {
    constexpr int kNames = 20'000;
    define("k/{key}", 100);
    for (int i = 0; i < kNames; ++i) {
        use("k/" + std::to_string(i));
        if (i % 1'000 == 999) {
            pass(10ms);
        }
    }
    CHECK(quiet.size() == kNames);
    const std::size_t most = quiet.memory();
    CHECK(most > kNames * sizeof(QuietLimit));
    for (int second = 0; second < 75; ++second) {
        use("k/7");
        use("k/19999");
        pass(1s);
    }
    CHECK(quiet.size() == 2);
    CHECK(quiet.memory() < most / 8);
    // Those that are left are what they were, wherever they are kept now.
    const auto admitted = [this](std::string_view name) {
        const QuietLimit* limit = quiet.find(key_of(name));
        return limit == nullptr ? -1 : limit->share.admitted;
    };
    CHECK(admitted("k/7") == 76);
    CHECK(admitted("k/19999") == 76);
    REQUIRE(quiet.take(key_of("k/7"), now).has_value());
    CHECK(admitted("k/7") == -1);
    CHECK(admitted("k/19999") == 76);
}

}  // namespace
}  // namespace weir::sync
