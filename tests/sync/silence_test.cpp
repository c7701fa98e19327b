#include "sync/silence.h"

#include <doctest/doctest.h>

namespace weir::sync {
namespace {

gossip::MemberId member(std::uint32_t number) {
    return {Endpoint::v4(0x0a000000 + number, 7946), number + 1};
}

struct Fixture {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    Instant now{std::chrono::seconds(100)};

    /// There are more live members than those that fall silent here.
    void hear_another() { silence.set_live_others(99, now, now); }

    Presence judge(MemberNumber number, Instant heard, Duration keep_alive) {
        hear_another();
        return silence.judge(number, now - heard, keep_alive, settings.hold, now);
    }
};

TEST_CASE_FIXTURE(Fixture, "silent means 2.5 keep-alives, at least 0.8 s") {
    CHECK(silence.silent_after(200ms) == 800ms);
    CHECK(silence.silent_after(1s) == 2500ms);
    const MemberNumber one = silence.number(member(1), now);
    const Instant heard = now;
    now += 800ms;
    CHECK(judge(one, heard, 200ms) == Presence::heard);
    now += 1ms;
    CHECK(judge(one, heard, 200ms) == Presence::fading);
    CHECK(statistics.silent_origins == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "two that fall silent within a second are a split, the first provisionally") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const Instant first = now;
    const Instant second = now + 700ms;
    silence.heard(two, second);
    now = first + 900ms;
    CHECK(judge(one, first, 200ms) == Presence::fading);
    now = second + 900ms;
    CHECK(judge(two, second, 200ms) == Presence::held);
    CHECK(judge(one, first, 200ms) == Presence::held);
    CHECK(silence.hold_left(one, 10s, now) == settings.hold);
    now += settings.hold;
    CHECK(judge(one, first, 200ms) == Presence::fading);
    CHECK(judge(two, second, 200ms) == Presence::fading);
}

TEST_CASE_FIXTURE(
    Fixture, "nobody is there: the second refusal counts, a packet in between undoes the first") {
    const MemberNumber one = silence.number(member(1), now);
    silence.heard(one, now);
    CHECK(silence.nobody_there(one, now) == Silence::Hint::ask);
    CHECK(silence.nobody_there(one, now) == Silence::Hint::known);  // came together with the first
    CHECK(silence.judge(one, 10ms, 200ms, settings.hold, now) == Presence::heard);
    silence.heard(one, now);
    now += 1ms;
    CHECK(silence.nobody_there(one, now) == Silence::Hint::ask);
    now += 1ms;
    CHECK(silence.nobody_there(one, now) == Silence::Hint::given_up);
    CHECK(silence.nobody_there(one, now) == Silence::Hint::known);
    hear_another();
    CHECK(silence.judge(one, 10ms, 200ms, settings.hold, now) == Presence::fading);
    CHECK(statistics.splits == 0);
    // Two at once are no split either, while another one is heard.
    const MemberNumber two = silence.number(member(2), now);
    silence.nobody_there(two, now);
    silence.nobody_there(two, now + 1ms);
    CHECK(silence.judge(two, 10ms, 200ms, settings.hold, now + 1ms) == Presence::fading);
    CHECK(statistics.splits == 0);
    silence.heard(two, now + 1ms);
    // When nobody is heard they are: whoever cuts a network may answer for all.
    silence.set_live_others(2, now, now);
    silence.nobody_there(two, now + 1ms);
    silence.nobody_there(two, now + 2ms);
    CHECK(silence.judge(two, 10ms, 200ms, settings.hold, now + 2ms) == Presence::held);
    CHECK(silence.judge(one, 11ms, 200ms, settings.hold, now + 2ms) == Presence::held);
    silence.heard(one, now + 3ms);
    CHECK(silence.judge(one, 1ms, 200ms, settings.hold, now + 3ms) == Presence::heard);
}

TEST_CASE_FIXTURE(Fixture, "two deaths that lie apart are no split") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const Instant first = now;
    const Instant second = now + 1300ms;
    silence.heard(two, second);
    now = second + 900ms;
    CHECK(judge(one, first, 200ms) == Presence::fading);
    CHECK(judge(two, second, 200ms) == Presence::fading);
    CHECK(statistics.splits == 0);
}

TEST_CASE_FIXTURE(Fixture, "the last one that was heard is held: we may be the ones cut off") {
    const MemberNumber one = silence.number(member(1), now);
    const Instant heard = now;
    now += 900ms;
    CHECK(silence.judge(one, now - heard, 200ms, settings.hold, now) == Presence::held);
    CHECK(statistics.splits == 1);
    now += settings.hold;
    CHECK(silence.judge(one, now - heard, 200ms, settings.hold, now) == Presence::fading);
}

TEST_CASE_FIXTURE(Fixture, "the share of an anchor is not held, because it has none") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    silence.joined(member(1), true);
    silence.joined(member(2), false);
    // This side hears nobody else.
    silence.set_live_others(2, now, now);
    now += 3s;
    silence.died(member(1), now);
    silence.died(member(2), now);
    silence.set_live_others(0, now - 3s, now);
    CHECK(silence.has_share(one, now));
    CHECK_FALSE(silence.has_share(two, now));
    CHECK(silence.count_held(now) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a goodbye is never silence") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const Instant heard = now;
    silence.gone(member(1), now);
    now += 900ms;
    CHECK(judge(one, heard, 200ms) == Presence::gone);
    CHECK(judge(two, heard, 200ms) == Presence::fading);
}

TEST_CASE_FIXTURE(Fixture, "who speaks of other limits is not cut off") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const Instant heard = now;
    now += 900ms;
    silence.heard(one, now);
    CHECK(judge(one, heard, 200ms) == Presence::heard);  // it may have many to speak of
    CHECK(judge(two, heard, 200ms) == Presence::fading);
    now += 601ms;
    silence.heard(one, now);
    CHECK(judge(one, heard, 200ms) == Presence::unmentioned);
    CHECK(judge(one, heard, 1s) == Presence::heard);
    CHECK(statistics.splits == 0);
}

TEST_CASE_FIXTURE(Fixture, "mode optimistic holds nobody") {
    settings.hold = Duration::zero();
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const Instant heard = now;
    now += 900ms;
    CHECK(judge(one, heard, 200ms) == Presence::fading);
    CHECK(judge(two, heard, 200ms) == Presence::fading);
}

TEST_CASE_FIXTURE(Fixture, "a stop of our own forgives all silence; heard again ends it") {
    const MemberNumber one = silence.number(member(1), now);
    const Instant heard = now;
    now += 20s;
    silence.restart(now);
    CHECK(silence.judge(one, Duration::zero(), 200ms, settings.hold, now) == Presence::heard);
    CHECK(judge(one, heard, 200ms) == Presence::unmentioned);
    silence.heard(one, now);
    CHECK(judge(one, now, 200ms) == Presence::heard);
}

TEST_CASE_FIXTURE(Fixture, "whoever is gone is forgotten, the table stays small") {
    std::size_t departed = 0;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        silence.number(member(i), now);
        silence.gone(member(i), now);
        now += 3s;
        departed += silence.take_departed(now).size();
        silence.forget_old(now);
    }
    CHECK(silence.size() <= 60);
    CHECK(departed >= 1000 - 30);
}

TEST_CASE_FIXTURE(Fixture, "who left is returned once, after a while, and again if it came back") {
    const MemberNumber one = silence.number(member(1), now);
    const MemberNumber two = silence.number(member(2), now);
    const MemberNumber live = silence.number(member(3), now);
    silence.gone(member(1), now);
    silence.died(member(2), now);
    now += 70s;
    CHECK(silence.take_departed(now).empty());
    now += 6s;
    CHECK(silence.take_departed(now) == std::vector<MemberNumber>{one, two});
    CHECK(silence.take_departed(now).empty());
    silence.heard(two, now);
    silence.died(member(2), now);
    now += 76s;
    CHECK(silence.take_departed(now) == std::vector<MemberNumber>{two});
    now += 20min;
    CHECK(silence.take_departed(now).empty());  // it says nothing of limits, but it lives
    silence.died(member(3), now);
    CHECK(silence.take_departed(now) == std::vector<MemberNumber>{live});
}

TEST_CASE_FIXTURE(Fixture, "the peer whose values were refused is named") {
    CHECK(silence.refusals().empty());
    const MemberNumber two = silence.number(member(2), now);
    silence.number(member(1), now);
    silence.refused(two);
    silence.refused(two);
    REQUIRE(silence.refusals().size() == 1);
    CHECK(silence.refusals()[0].peer == member(2).address);
    CHECK(silence.refusals()[0].count == 2);
    CHECK(silence.refusals(member(2)) == 2);
    CHECK(silence.refusals(member(1)) == 0);
    for (std::uint16_t i = 10; i < 40; ++i) {
        silence.refused(silence.number(member(i), now));
    }
    CHECK(silence.refusals().size() == 16);
    CHECK(silence.refusals()[0].peer == member(2).address);
}

}  // namespace
}  // namespace weir::sync
