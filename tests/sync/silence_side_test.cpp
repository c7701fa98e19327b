// On which side of a split a member is, and how long it holds what it cannot hear.

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "sync/reckoning.h"
#include "sync/silence.h"

namespace weir::sync {
namespace {

Endpoint address(std::uint32_t number) { return Endpoint::v4(0x0a000000 + number, 7946); }
gossip::MemberId member(std::uint32_t number, std::uint64_t incarnation = 1) {
    return {address(number), incarnation};
}

/// This member is 0. The others report one limit every 0.2 s.
struct Fixture {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    Instant now{std::chrono::seconds(1000)};
    std::vector<Instant> heard = std::vector<Instant>(16, now);
    std::size_t live = 0;
    Instant last_heard = now;

    Fixture() { silence.set_self(address(0)); }
    void join(std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t i = first; i <= last; ++i) {
            silence.joined(member(i));
            silence.heard(silence.number(member(i), now), now);
            heard[i] = now;
            ++live;
        }
    }
    /// Lets time pass in which only these are heard.
    void pass(Duration time, const std::vector<std::uint32_t>& speaking) {
        const Instant end = now + time;
        while (now < end) {
            now += 50ms;
            for (const std::uint32_t each : speaking) {
                silence.heard(silence.number(member(each), now), now);
                heard[each] = now;
            }
            if (!speaking.empty()) {
                last_heard = now;
            }
            silence.set_live_others(live, last_heard, now);
            for (std::uint32_t i = 1; i < heard.size(); ++i) {
                judge(i);
            }
        }
    }
    Presence judge(std::uint32_t number) { return judge(number, settings.hold); }
    Presence judge(std::uint32_t number, Duration hold) {
        return silence.judge(silence.number(member(number), now), now - heard[number], 200ms, hold,
                             now);
    }
    void give_up(std::uint32_t number) {
        silence.died(member(number), now);
        --live;
    }
    void give_up_all(std::initializer_list<std::uint32_t> numbers) {
        for (const std::uint32_t each : numbers) {
            give_up(each);
        }
    }
};

struct Five : Fixture {
    Five() {
        heard.resize(5);
        join(1, 4);
        pass(5s, {1, 2, 3, 4});
    }
};

TEST_CASE_FIXTURE(Five,
                  "who hears more than half holds nothing for the rest, once all can be missed") {
    CHECK(silence.side().majority);
    pass(1s, {1, 2});
    CHECK(judge(3) == Presence::held);
    CHECK(judge(4) == Presence::held);
    pass(1450ms, {1, 2});
    CHECK(judge(3) == Presence::held);
    pass(50ms, {1, 2});
    CHECK(judge(3) == Presence::fading);
    CHECK(judge(4) == Presence::fading);
    CHECK(silence.side().majority);
    CHECK(silence.hold_left(silence.number(member(3), now), 10s, now) == Duration::zero());
    CHECK(statistics.splits == 2);  // counted all the same: it is one
}

TEST_CASE_FIXTURE(Five, "who hears fewer holds, and for as long as the limit says") {
    pass(1s, {4});
    CHECK_FALSE(silence.side().majority);
    CHECK_FALSE(silence.side().alone);
    for (std::uint32_t i = 1; i <= 3; ++i) {
        CHECK(judge(i) == Presence::held);
        CHECK(judge(i, Duration::zero()) == Presence::fading);
    }
    pass(4s, {4});
    CHECK(judge(1) == Presence::held);
    CHECK(judge(1, 3s) == Presence::fading);
    pass(6s, {4});
    CHECK(judge(1) == Presence::fading);
    CHECK(judge(1, 1min) == Presence::held);
}

TEST_CASE_FIXTURE(Fixture, "of two halves neither has more than half: both hold") {
    heard.resize(6);
    join(1, 5);
    pass(5s, {1, 2, 3, 4, 5});
    pass(1s, {1, 2});
    for (std::uint32_t i = 3; i <= 5; ++i) {
        CHECK(judge(i) == Presence::held);
    }
}

TEST_CASE_FIXTURE(Five,
                  "a side is the larger one for certain when most were heard after the last loss") {
    CHECK(silence.side().confirmed);
    now += 1ms;
    silence.suspected(member(4), true, now);
    pass(100ms, {});
    CHECK(silence.side().majority);
    CHECK_FALSE(silence.side().confirmed);
    pass(100ms, {1});
    CHECK_FALSE(silence.side().confirmed);  // 2 and 3 may be lost as well
    pass(150ms, {2});
    CHECK(silence.side().confirmed);
    // Another loss asks the same again. Two of the other four, and this member, are most of five.
    now += 1ms;
    silence.suspected(member(3), true, now);
    pass(100ms, {1});
    CHECK(silence.side().majority);
    CHECK_FALSE(silence.side().confirmed);
    pass(150ms, {2});
    CHECK(silence.side().confirmed);
}

TEST_CASE_FIXTURE(Five, "who said goodbye is not counted, nor who is replaced at its address") {
    silence.gone(member(1), now);
    silence.gone(member(2), now);
    live -= 2;
    pass(1s, {4});
    CHECK(silence.side().majority);  // two of three
    CHECK(judge(3) == Presence::fading);
    silence.joined(member(3, 2));
    silence.heard(silence.number(member(3, 2), now), now);
    pass(2400ms, {});
    last_heard = now;
    pass(300ms, {});
    CHECK(judge(4) == Presence::fading);
    CHECK(silence.side().majority);  // two of three: not 4
    silence.died(member(3, 2), now);
    pass(200ms, {});
    CHECK_FALSE(silence.side().majority);  // one of three
}

TEST_CASE_FIXTURE(Five, "deaths that hosts confirm do not make the rest the smaller side") {
    for (std::uint32_t i = 2; i <= 4; ++i) {
        const MemberNumber number = silence.number(member(i), now);
        static_cast<void>(silence.nobody_there(number, now));
        CHECK(silence.nobody_there(number, now + 1ms) == Silence::Hint::given_up);
    }
    pass(1s, {1});
    CHECK(silence.side().majority);
    for (std::uint32_t i = 2; i <= 4; ++i) {
        CHECK(judge(i) == Presence::fading);
    }
    // When nobody is heard, a firewall may have answered for all.
    pass(1s, {});
    CHECK_FALSE(silence.side().majority);
}

TEST_CASE_FIXTURE(Five, "who joined after the first was lost helps no side to be the larger one") {
    pass(1s, {4});
    CHECK(judge(1) == Presence::held);
    heard.resize(9, now);
    join(5, 8);
    pass(8s, {4, 5, 6, 7, 8});
    CHECK_FALSE(silence.side().majority);
    CHECK(judge(1) == Presence::held);
}

TEST_CASE_FIXTURE(Five, "who restarts at its address is the member that it was") {
    pass(1s, {3, 4});
    CHECK(silence.side().majority);
    silence.gone(member(3), now);
    silence.joined(member(3, 2));
    silence.heard(silence.number(member(3, 2), now), now);
    pass(2s, {4});
    CHECK(silence.side().majority);  // three of five
    CHECK(judge(1) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "a rolling restart of the larger side leaves it the larger one") {
    pass(3s, {3, 4});
    CHECK(silence.side().majority);  // three of five
    for (const std::uint32_t one : {3U, 4U}) {
        silence.gone(member(one), now);
        --live;
        heard.resize(one + 3);
        join(one + 2, one + 2);  // at another address
        pass(1s, {one == 3 ? 4U : 5U, one + 2});
        CHECK(silence.side().majority);
        CHECK(judge(1) == Presence::fading);
    }
    // What those said who have gone since means nothing for a split that comes afterwards.
    pass(4s, {5, 6});
    CHECK(silence.side().majority);
    pass(3s, {5});
    CHECK_FALSE(silence.side().majority);
}

TEST_CASE_FIXTURE(Five, "a goodbye that both sides have heard is nobody's voice") {
    SUBCASE("before those that are missing would have spoken again") {
        pass(150ms, {3});
        silence.gone(member(4), now);
        --live;
        pass(3s, {3});
        CHECK_FALSE(silence.side().majority);  // two of four
    }
    SUBCASE("after that") {
        pass(250ms, {3});
        silence.gone(member(4), now);
        --live;
        pass(3s, {3});
        CHECK(silence.side().majority);  // three of five
    }
}

TEST_CASE_FIXTURE(Five, "who restarts at its address has one voice, not that of its goodbye too") {
    pass(3s, {4});
    CHECK_FALSE(silence.side().majority);
    for (std::uint64_t incarnation = 2; incarnation <= 4; ++incarnation) {
        silence.gone(member(4, incarnation - 1), now);
        silence.joined(member(4, incarnation));
        silence.heard(silence.number(member(4, incarnation), now), now);
        last_heard = now;
        pass(50ms, {});
        CHECK_FALSE(silence.side().majority);  // two of five
    }
}

TEST_CASE_FIXTURE(Five, "who was given up more than a minute ago is counted no more") {
    pass(1s, {1, 2});
    give_up_all({3, 4});
    SUBCASE("before: two of five are too few") {
        pass(50s, {1, 2});
        pass(2s, {1});
        CHECK_FALSE(silence.side().majority);
    }
    SUBCASE("after: two of three are more than half") {
        pass(62s, {1, 2});
        pass(2s, {1});
        CHECK(silence.side().majority);
        CHECK(judge(2) == Presence::fading);
    }
}

TEST_CASE_FIXTURE(Five,
                  "a long hold is not cut short by time that makes the smaller side a whole") {
    settings.hold = 10min;
    pass(1s, {4});
    give_up_all({1, 2, 3});
    pass(590s, {4});
    CHECK(judge(1) == Presence::held);
    pass(20s, {4});
    CHECK(judge(1) == Presence::fading);
    pass(5s, {4});
    CHECK(silence.side().majority);
}

TEST_CASE_FIXTURE(Fixture, "deaths of long ago do not count when others die later") {
    heard.resize(4);
    join(1, 3);
    pass(5s, {1, 2, 3});
    pass(10s, {3});
    give_up_all({1, 2});
    pass(10min, {3});
    heard.resize(10, now);
    join(4, 9);
    pass(5s, {3, 4, 5, 6, 7, 8, 9});
    pass(1s, {3, 6, 7, 8, 9});
    CHECK(judge(4) == Presence::held);
    pass(2s, {3, 6, 7, 8, 9});  // six of eight that live are heard
    CHECK(silence.side().majority);
    CHECK(judge(4) == Presence::fading);
}

TEST_CASE_FIXTURE(Fixture, "a share that was given back is not held again by the last survivor") {
    heard.resize(4);
    silence.set_seeds({address(1), address(2), address(3)}, true, now);
    join(1, 3);
    pass(5s, {1, 2, 3});
    pass(9s, {3});
    CHECK(judge(1) == Presence::held);
    pass(3s, {3});
    CHECK(judge(1) == Presence::fading);
    pass(15s, {3});
    pass(5s, {});
    CHECK(silence.side().alone);
    CHECK(judge(3) == Presence::held);
    CHECK(judge(1) == Presence::fading);
    CHECK(judge(2) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "who is held is not forgotten") {
    settings.hold = 25min;
    const std::size_t known = silence.size();
    pass(1s, {4});
    pass(24min, {4});
    CHECK(silence.take_departed(now).empty());
    silence.forget_old(now);
    CHECK(silence.size() == known);
    CHECK(judge(1) == Presence::held);
    pass(1min, {4});
    give_up_all({1, 2, 3});
    now += 3min;
    CHECK(silence.take_departed(now).size() == 3);
    now += 20min;
    silence.forget_old(now);
    CHECK(silence.size() == known - 3);
}

TEST_CASE_FIXTURE(Five, "who was held for a while is remembered for no longer because of it") {
    pass(1s, {4});
    give_up_all({1, 2, 3});
    pass(8s, {4});
    CHECK(judge(1) == Presence::held);
    pass(cell_memory(settings) - 9s, {4});
    CHECK(silence.take_departed(now).empty());
    pass(100ms, {4});
    CHECK(silence.take_departed(now).size() == 3);
}

TEST_CASE_FIXTURE(Five, "who hears nobody is the smaller side for as long as that lasts") {
    pass(5s, {});
    give_up_all({1, 2, 3, 4});
    pass(3min, {});
    CHECK_FALSE(silence.side().majority);
    CHECK(silence.side().alone);
    pass(3s, {1, 2, 3, 4});
    CHECK(silence.side().majority);
}

TEST_CASE_FIXTURE(Five, "the last one left by goodbyes is not cut off, although one died before") {
    pass(5s, {2, 3, 4});
    give_up(1);
    pass(5s, {2, 3, 4});
    std::vector<std::uint32_t> left = {2, 3, 4};
    while (!left.empty()) {
        silence.gone(member(left.back()), now);
        left.pop_back();
        --live;
        pass(1s, left);
        CHECK(silence.side().majority);
    }
    pass(10s, {});
    CHECK(silence.side().majority);
    CHECK_FALSE(silence.side().alone);
    CHECK(judge(1) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "a held rate of members without cells keeps them counted") {
    const Instant cut = now;
    pass(5s, {4});
    give_up_all({1, 2, 3});
    settings.hold = Duration::zero();  // no cell is held
    while (now < cut + 3min) {
        pass(1s, {4});
        silence.note_held_rate(cut, now);
        CHECK_FALSE(silence.side().majority);
    }
    pass(5s, {4});
    CHECK(silence.side().majority);
}

TEST_CASE_FIXTURE(Fixture, "who remembers an earlier loss hears most only of all that there are") {
    heard.resize(8);
    join(1, 3);
    pass(5s, {1, 2, 3});
    pass(5s, {1, 2});
    give_up(3);
    pass(10s, {1, 2});
    join(4, 7);
    pass(5s, {1, 2, 4, 5, 6, 7});
    CHECK(silence.side().majority);
    pass(2s, {1, 2});
    CHECK_FALSE(silence.side().majority);  // three of four of those before, but three of eight
}

TEST_CASE_FIXTURE(Five, "a side that hears others again stays the smaller one for a moment") {
    pass(3s, {4});
    CHECK(judge(1) == Presence::held);
    pass(1s, {2, 3, 4});
    CHECK(judge(1) == Presence::held);
    pass(2s, {2, 3, 4});
    CHECK(silence.side().majority);
    CHECK(judge(1) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "a member that hears nobody holds on while its seeds name others") {
    silence.set_seeds({address(0), address(1), address(9)}, false, now);
    pass(1s, {});
    CHECK(silence.side().alone);
    CHECK(silence.side().seeds == SeedsSay::others);
    pass(55s, {});
    for (std::uint32_t i = 1; i <= 4; ++i) {
        CHECK(judge(i) == Presence::held);
        CHECK(judge(i, 1s) == Presence::held);
        CHECK(judge(i, Duration::zero()) == Presence::fading);
    }
    pass(5s, {});
    CHECK(judge(1) == Presence::fading);
    CHECK(judge(1, 5min) == Presence::held);
}

TEST_CASE_FIXTURE(Five,
                  "it holds on no longer than for the hold time when they name nobody known") {
    silence.set_seeds({address(9)}, true, now);
    pass(1s, {});
    CHECK(silence.side().seeds == SeedsSay::nothing);
    CHECK(judge(1) == Presence::held);
    pass(10s, {});
    CHECK(judge(1) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "others count as long as they lived within the last ten minutes") {
    settings.hold_alone = 1h;
    silence.set_seeds({address(1)}, true, now);
    pass(1s, {});
    give_up_all({1, 2, 3, 4});
    pass(597s, {});
    CHECK(judge(2) == Presence::held);
    pass(5s, {});
    CHECK(judge(2) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "it opens at once when a new look-up names only itself") {
    silence.set_seeds({address(0)}, true, now);
    pass(1s, {});
    CHECK(judge(1) == Presence::held);  // an old answer
    silence.set_seeds({address(0)}, false, now);
    pass(1s, {});
    CHECK(judge(1) == Presence::held);  // nothing was looked up
    silence.set_seeds({address(0)}, true, now);
    pass(200ms, {});
    CHECK(silence.side().seeds == SeedsSay::only_us);
    CHECK(judge(1) == Presence::fading);
}

TEST_CASE_FIXTURE(Five, "members that tell of no limits count when membership gives them up") {
    heard.resize(2);  // only 1 reports
    silence.set_seeds({address(2)}, false, now);
    pass(1s, {});
    CHECK(judge(1) == Presence::fading);  // one death of five
    pass(4s, {});
    give_up_all({1, 2, 3, 4});
    pass(200ms, {});
    CHECK(silence.side().alone);
    CHECK(judge(1) == Presence::held);
    pass(50s, {});
    CHECK(judge(1) == Presence::held);
}

}  // namespace
}  // namespace weir::sync
