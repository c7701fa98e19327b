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
        const bool lost = view.begin_telling(settings, limit, now, limits);
        view.sent(own, now, limits, view.lets_answers_wait(now));
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
                pass(view.lets_answers_wait(now) ? wait : kOnTheWay);
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
        CHECK_FALSE(view.steady());
        tell();
        answer(own);
    }
    SUBCASE("of a new run") {
        go_on(6s);
        REQUIRE(view.steady());
        view.begin_run(own, now);
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

TEST_CASE_FIXTURE(Pair, "now and then an answer may not wait, so that the round trip is known") {
    tell();
    answer(own);
    go_on(6s);
    REQUIRE(view.steady());
    Duration waited{};  // the longest time during which all answers did
    Duration longest{};
    const Instant end = now + 60s;
    while (now < end) {
        const bool waits = view.lets_answers_wait(now);
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
