// How two owners of a limit tell each other of it while nothing is lost: as seldom as they may, and
// with answers that wait.

#include <doctest/doctest.h>

#include <algorithm>

#include "sync/owner_view.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

const limiter::LimitParameters kLimit{100, 100, 200, -1, limiter::Law::adaptive};
constexpr double kRate = 50;
constexpr Duration kOnTheWay = 2ms;
constexpr std::uint32_t kRun = 7;

/// A view of another owner. This member has half of the load of a limit that sheds.
struct Pair {
    SyncSettings settings;
    OwnerView view{gossip::MemberId{Endpoint::v4(1, 1), 1}};
    OwnerLink link;
    bool hot = true;
    bool answer_waits = false;  // that to the last delta
    OriginCounts own;
    Thresholds thresholds{5, 10};
    Instant now{std::chrono::seconds(1000)};

    Pair() {
        view.begin_run(own, now);
        view.pair(Pairing::first);
        own.rate = kRate;
        own.since = now;
    }
    void pass(Duration time) {
        now += time;
        const double came = kRate * to_seconds(time);
        own.admitted = quantise(own.admitted + came);
        own.offered = quantise(own.offered + came);
        own.open_time += to_seconds(time);
        view.advance(kLimit, own, now);
        own.since = now;
    }
    Need need(const limiter::LimitParameters& limit = kLimit) const {
        return view.need(settings, limit, own, thresholds, now);
    }
    Duration keep_alive() const { return view.keep_alive(settings, kRate); }
    /// Whether the last one was lost.
    bool tell(const limiter::LimitParameters& limit = kLimit, std::size_t limits = 1) {
        const bool lost = view.begin_telling(settings, limit, hot, link, now, limits);
        answer_waits =
            view.lets_answer_wait(view.news(settings, limit, own, thresholds, now), hot, now);
        view.sent(own, now, limits, answer_waits);
        return lost;
    }
    void answer(const OriginCounts& counts) {
        TotalEntry total;
        total.life = 3;
        total.filled = true;
        total.level = 150;
        total.rate = 2 * kRate;
        total.origins = 2;
        total.run = kRun;
        total.admitted = counts.admitted;
        total.offered = counts.offered;
        CHECK(view.receive(settings, kLimit, total, kRun, own, now));
    }
    /// Tells whenever it must, and is answered after `wait` if it lets the answer wait, else at
    /// once.
    void go_on(Duration time, Duration wait = 100ms) {
        const Instant end = now + time;
        while (now < end) {
            if (need() >= Need::must) {
                CHECK_FALSE(tell());
                const OriginCounts told = own;
                pass(answer_waits ? wait : kOnTheWay);
                answer(told);
            }
            pass(10ms);
        }
    }
};

TEST_CASE_FIXTURE(Pair, "when nothing was lost for five seconds, owners tell each other seldom") {
    tell();
    answer(own);
    go_on(settings.steady_after - 500ms);
    CHECK_FALSE(view.steady());
    CHECK(keep_alive() == settings.keep_alive_floor);
    go_on(1s);
    CHECK(view.steady());
    CHECK(keep_alive() == settings.owners_keep_alive);
    const Instant told = view.asked_at();
    while (need() < Need::must) {
        pass(10ms);
    }
    CHECK(now - told >= settings.owners_keep_alive);
    CHECK(now - told < settings.owners_keep_alive + 20ms);
}

TEST_CASE_FIXTURE(Pair, "while an answer may wait, what was told counts as known") {
    tell();
    answer(own);
    go_on(6s);
    while (need() < Need::must) {
        pass(10ms);
    }
    tell();
    const OriginCounts told = own;
    pass(kAnswerMayWait);
    CHECK(view.awaiting());
    CHECK(view.waits_patiently(settings, now));
    CHECK(need() == Need::none);
    SUBCASE("and what leaps is told at once") {
        own.offered += 60;
        CHECK(need() == Need::urgent);
        CHECK_FALSE(tell());
        CHECK(view.steady());
    }
    SUBCASE("an answer that comes late enough is no loss, and nothing is told for it") {
        pass(20ms);
        answer(told);
        CHECK_FALSE(view.awaiting());
        CHECK(need() == Need::none);
        pass(10ms);
        CHECK(need() == Need::none);
        CHECK(view.round_trip() < 20ms);  // the wait is no way
        CHECK(view.staleness(now) < 20ms);
    }
    SUBCASE("one that does not come is a loss: it is told again, and for seconds as others are") {
        pass(settings.resend_after + view.round_trip());
        CHECK_FALSE(view.waits_patiently(settings, now));
        CHECK(need() >= Need::must);
        CHECK(tell());
        CHECK_FALSE(view.steady());
        CHECK(keep_alive() == settings.keep_alive_floor);
        pass(kOnTheWay);
        answer(own);
        go_on(settings.steady_after - 500ms);
        CHECK_FALSE(view.steady());
        go_on(1s);
        CHECK(view.steady());
    }
    SUBCASE("what is told after it does not hide that it was lost") {
        pass(40ms);
        CHECK(view.waits_patiently(settings, now));
        tell();
        pass(30ms);
        CHECK_FALSE(view.waits_patiently(settings, now));
    }
}

TEST_CASE_FIXTURE(Pair, "the second of two owners goes along with its answer sooner") {
    const auto rides_after = [&](Pairing pairing) {
        view.pair(pairing);
        go_on(6s);
        tell();
        answer(own);
        const Instant told = now;
        while (need() < Need::ride_along) {
            pass(1ms);
        }
        return now - told;
    };
    tell();
    answer(own);
    CHECK(rides_after(Pairing::first) > kAnswerMayWait);
    CHECK(rides_after(Pairing::second) < kAnswerMayWait);
}

TEST_CASE_FIXTURE(Pair, "others tell as often as ever") {
    tell();
    answer(own);
    SUBCASE("who is no owner") {
        view.pair(Pairing::none);
        go_on(6s);
    }
    SUBCASE("who is none any more") {
        go_on(6s);
        REQUIRE(view.steady());
        view.pair(Pairing::none);
        CHECK_FALSE(view.steady());
    }
    SUBCASE("whose views begin anew") {
        go_on(6s);
        REQUIRE(view.steady());
        view.ask_anew();
        link = {};
        CHECK_FALSE(view.steady());
        tell();
        answer(own);
    }
    SUBCASE("who has told nothing for seconds") {
        go_on(6s);
        REQUIRE(view.steady());
        now += 3s;
        tell();
        answer(own);
    }
    CHECK_FALSE(view.steady());
    CHECK(keep_alive() == settings.keep_alive_floor);
    go_on(1s);
    CHECK_FALSE(view.steady());
}

TEST_CASE_FIXTURE(Pair, "what the link has shown holds for a run that begins later") {
    tell();
    answer(own);
    go_on(6s);
    REQUIRE(view.steady());
    for (const bool near : {false, true}) {
        hot = near;
        view.begin_run(own, now);
        CHECK_FALSE(view.steady());
        tell();
        CHECK(view.steady());
        CHECK_FALSE(answer_waits);  // the owner knows nothing of this run
    }
}

TEST_CASE_FIXTURE(Pair, "of a limit that is not hot only a leap is answered at once") {
    tell();
    answer(own);
    go_on(6s);
    REQUIRE(view.lets_answer_wait(1, true, now));
    CHECK_FALSE(view.lets_answer_wait(1.1, true, now));
    CHECK(view.lets_answer_wait(1.1, false, now));
    while (need() < Need::urgent) {
        REQUIRE(
            view.lets_answer_wait(view.news(settings, kLimit, own, thresholds, now), false, now));
        own.admitted += 1;
        own.offered += 1;
    }
    tell();
    CHECK_FALSE(answer_waits);
}

TEST_CASE_FIXTURE(Pair, "a loss under one limit counts for the others of the link") {
    tell();
    answer(own);
    go_on(6s);
    OwnerView lossy{view.owner()};
    lossy.begin_run(own, now);
    lossy.pair(Pairing::first);
    CHECK_FALSE(lossy.begin_telling(settings, kLimit, hot, link, now));
    lossy.sent(own, now);
    pass(100ms);
    CHECK(lossy.begin_telling(settings, kLimit, hot, link, now));
    tell();
    CHECK_FALSE(view.steady());
}

TEST_CASE_FIXTURE(Pair, "now and then an answer may not wait, so that the round trip is known") {
    tell();
    answer(own);
    go_on(6s);
    REQUIRE(view.steady());
    Duration waited{};  // the longest time during which all answers did
    Duration longest{};
    const Instant end = now + 60s;
    while (now < end) {
        const bool waits = view.lets_answer_wait(0, hot, now);
        const Instant before = now;
        go_on(100ms);
        waited = waits ? waited + (now - before) : Duration::zero();
        longest = std::max(longest, waited);
    }
    CHECK(longest > 8s);
    CHECK(longest < 11s);
}

TEST_CASE_FIXTURE(Pair, "at a hard edge each request is news, and many limits share datagrams") {
    const limiter::LimitParameters edge{100, 100, 100, -1, limiter::Law::adaptive};
    REQUIRE(edge.edge());
    tell();
    answer(own);
    go_on(6s);
    REQUIRE(view.steady());
    SUBCASE("an edge") {
        tell(edge);
        CHECK_FALSE(view.steady());
    }
    SUBCASE("an edge that is far away, until it is near") {
        hot = false;
        tell(edge);
        CHECK(view.steady());
        hot = true;
        tell(edge);
        CHECK_FALSE(view.steady());
    }
    SUBCASE("a few more that are not hot") {
        hot = false;
        tell(kLimit, settings.few_limits + 2);
        CHECK(view.steady());
        answer(own);
        tell(kLimit, 2 * settings.few_limits);
        CHECK_FALSE(view.steady());
    }
    SUBCASE("few limits") {
        tell(kLimit, settings.few_limits);
        CHECK(view.steady());
    }
    SUBCASE("many limits") {
        tell(kLimit, settings.few_limits + 1);
        CHECK_FALSE(view.steady());
    }
}

}  // namespace
}  // namespace weir::sync
