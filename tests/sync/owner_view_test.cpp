#include "sync/owner_view.h"

#include <doctest/doctest.h>

#include "tolerance.h"

namespace weir::sync {
namespace {

const limiter::LimitParameters kLimit{100, 100, 200, -1, limiter::Law::adaptive};

struct Fixture {
    SyncSettings settings;
    OwnerView view{gossip::MemberId{Endpoint::v4(1, 1), 1}};
    OriginCounts own;
    Thresholds thresholds{5, 10};
    Instant now{std::chrono::seconds(1000)};

    Fixture() {
        view.begin_run(own, now);
        own.since = now;
    }
    TotalEntry total(double level, double rate) const {
        TotalEntry entry;
        entry.life = 3;
        entry.filled = true;
        entry.level = level;
        entry.rate = rate;
        entry.origins = 3;
        entry.run = 7;
        entry.admitted = own.admitted;
        entry.offered = own.offered;
        return entry;
    }
    bool receive(const TotalEntry& entry) {
        return view.receive(settings, kLimit, entry, 7, own, now);
    }
    Need need() { return view.need(settings, kLimit, own, thresholds, now); }
    void pass(Duration time) {
        now += time;
        view.advance(kLimit, own, now);
        own.since = now;
    }
    void admit(double weight) {
        own.admitted += weight;
        own.offered += weight;
    }
    /// The owner is asked, and does not answer for a second.
    void ask_in_vain() {
        CHECK(view.fresh(settings, now));
        view.sent(own, now);
        pass(900ms);
        CHECK(view.fresh(settings, now));
        pass(200ms);
        CHECK_FALSE(view.fresh(settings, now));
    }
    void exchange(double level, double rate) {
        view.sent(own, now);
        receive(total(level, rate));
    }
};

TEST_CASE_FIXTURE(Fixture, "of many limits each is mentioned every 0.6 s, and more coarsely") {
    own.rate = 50;
    exchange(150, 150);
    const auto with = [&](std::size_t limits) {
        view.sent(own, now, limits);
        receive(total(150, 150));
    };
    with(3);  // few: within the keep-alive of a third of the load
    pass(210ms);
    own.offered += 10.5;
    CHECK(need() == Need::must);
    with(30);
    pass(210ms);
    own.offered += 10.5;
    CHECK(need() == Need::presence);
    pass(300ms);
    own.offered += 15;
    CHECK(need() == Need::ride_along);
    pass(100ms);
    own.offered += 5;
    CHECK(need() == Need::must);

    const auto first_told = [&](std::size_t limits) {
        with(limits);
        pass(10ms);
        double more = 0;
        for (; need() < Need::must; more += 0.25) {
            own.offered += 0.25;
        }
        return more;
    };
    const double few = first_told(3);
    CHECK(first_told(10) == doctest::Approx(few).epsilon(0.2));
    CHECK(first_told(20) == doctest::Approx(2 * few).epsilon(0.2));
    CHECK(first_told(100) == doctest::Approx(3 * few).epsilon(0.2));
}

TEST_CASE_FIXTURE(Fixture,
                  "at a hard edge each admitted request is told, however many limits there are") {
    const limiter::LimitParameters edge{0.1, 5, 5, -1, limiter::Law::adaptive};
    own.rate = 0.1;
    view.sent(own, now, 100);
    receive(total(1, 0.3));
    now += 10ms;
    view.advance(edge, own, now);
    admit(1);
    const Thresholds of_edge = thresholds_of(settings, edge, 1, 0.3, 3, 0);
    CHECK(view.need(settings, edge, own, of_edge, now) >= Need::must);
    admit(2);
    CHECK(view.need(settings, edge, own, of_edge, now) == Need::urgent);
}

TEST_CASE_FIXTURE(Fixture,
                  "of what came after a rest only that may have drained which had time to") {
    const limiter::LimitParameters edge{10, 5, 5, -1, limiter::Law::adaptive};
    const auto level_after = [&](Duration looked) {
        view.sent(own, now);
        CHECK(view.receive(settings, edge, total(0, 0), 7, own, now));
        now += 60s;
        own.since = now - looked;
        admit(5);
        view.advance(edge, own, now);
        return view.bucket().level;
    };
    CHECK(level_after(10ms) == doctest::Approx(5 - 0.1));
    CHECK(level_after(200ms) == doctest::Approx(5 - 2));
}

TEST_CASE_FIXTURE(Fixture, "an owner is asked at once when it is met, and only once") {
    CHECK(need() >= Need::must);
    view.sent(own, now);
    CHECK(need() == Need::none);
    CHECK_FALSE(view.fresh(settings, now));
    receive(total(50, 20));
    CHECK(view.fresh(settings, now));
    CHECK(view.bucket().level == 50);
}

TEST_CASE_FIXTURE(Fixture,
                  "between totals it drains, gains what others are reckoned to do, and our own") {
    exchange(50, 60);
    pass(500ms);  // 60/s come in, 100/s drain
    CHECK(view.bucket().level == doctest::Approx(30));
    admit(8);
    pass(10ms);
    CHECK(view.bucket().level == doctest::Approx(37.6));
    pass(10s);
    CHECK(view.bucket().level == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "an owner that answers late is stale by as much, until it answers sooner") {
    exchange(50, 20);
    CHECK(view.staleness(now + 100ms) == 100ms);
    admit(3);
    view.sent(own, now);
    pass(70ms);
    receive(total(53, 20));
    CHECK(view.staleness(now) == 70ms);
    CHECK(view.staleness(now + 100ms) == 170ms);
    receive(total(54, 20));  // a publication says nothing of that
    CHECK(view.staleness(now) == 70ms);
    // An answer to what was sent again is no proof that it is quick now; twenty are.
    for (int i = 0; i < 20; ++i) {
        admit(3);
        view.sent(own, now);
        pass(1ms);
        receive(total(56, 20));
        CHECK((view.staleness(now) > 30ms) == (i < 6));
    }
    CHECK(view.staleness(now) < 6ms);
}

TEST_CASE_FIXTURE(Fixture, "a total counts what we admitted beyond the acknowledged count") {
    exchange(50, 0);
    admit(4);
    view.sent(own, now);
    const TotalEntry answer = total(54, 0);
    admit(3);
    receive(answer);
    CHECK(view.bucket().level == doctest::Approx(57));
    // A late answer of before changes nothing.
    TotalEntry late = answer;
    late.admitted = late.offered = 1;
    late.level = 190;
    CHECK_FALSE(receive(late));
    CHECK(view.bucket().level == doctest::Approx(57));
}

TEST_CASE_FIXTURE(Fixture, "what the owner reckons of us is not counted twice") {
    own.rate = 40;
    exchange(20, 40);
    CHECK(view.others_rate() == 0);
    own.open_time += 0.5;
    admit(20);
    pass(500ms);
    // The owner reckoned 20 of ours; its publication carries the old count.
    TotalEntry publication = total(0, 40);
    publication.admitted = publication.offered = 0;
    receive(publication);
    CHECK(view.bucket().level == testing::plus_minus(0, 0.01));
}

TEST_CASE_FIXTURE(Fixture,
                  "it sends when what was done differs by the threshold; half-way rides along") {
    exchange(0, 0);
    pass(50ms);
    CHECK(need() == Need::none);
    admit(2.6);
    CHECK(need() == Need::ride_along);
    admit(2.6);
    CHECK(need() >= Need::must);
}

TEST_CASE_FIXTURE(Fixture, "a keep-alive while there is a rate to keep alive, none without") {
    exchange(0, 0);
    pass(3s);
    CHECK(need() == Need::none);
    own.rate = 1;
    admit(1);
    exchange(0, 100);
    pass(990ms);
    own.offered += 1;
    CHECK(need() < Need::must);
    pass(20ms);
    CHECK(need() >= Need::must);
}

TEST_CASE_FIXTURE(Fixture,
                  "of a limit that is not hot what chance alone does is not worth a word") {
    exchange(10, 60);
    thresholds.calm = 20;
    now += 100ms;
    thresholds.admitted = 2;
    admit(4);  // of a rate of none chance gives 4 * 1 + 1 at most
    CHECK(need() < Need::must);
    thresholds.calm = 3;  // and by so much all of them may stray
    CHECK(need() == Need::must);
    thresholds.calm = 0;
    CHECK(need() == Need::must);
}

TEST_CASE_FIXTURE(Fixture, "a limit that leaps though it is not hot cannot wait") {
    exchange(10, 60);
    thresholds.calm = 20;
    now += 10ms;
    admit(30);
    CHECK(need() == Need::urgent);
}

TEST_CASE_FIXTURE(Fixture,
                  "limits that are not hot keep each other company from 0.4 of a keep-alive") {
    own.rate = 1;
    exchange(10, 100);  // a share of a hundredth: 1 s
    thresholds.calm = 20;
    const auto after = [&](Duration time) {
        pass(time);
        return need();
    };
    CHECK(after(390ms) == Need::none);
    CHECK(after(20ms) == Need::together);
    thresholds.calm = 0;
    CHECK(need() == Need::none);
    thresholds.calm = 20;
    CHECK(after(400ms) == Need::ride_along);
    CHECK(after(200ms) == Need::must);
}

TEST_CASE(
    "origins of a calm limit may be off by six tenths of low together, by a few requests each") {
    CHECK(calm_of(kLimit, 1, 1) == doctest::Approx(60));
    CHECK(calm_of(kLimit, 1, 15) == doctest::Approx(4));
    CHECK(calm_of(kLimit, 1, 16) == 0);
    CHECK(calm_of(kLimit, 4, 4) == 0);
    const limiter::LimitParameters edge{100, 100, 100, -1, limiter::Law::adaptive};
    REQUIRE(edge.edge());
    CHECK(calm_of(edge, 1, 1) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a hot level is polled even when there is nothing to tell") {
    exchange(150, 0);
    pass(100ms);
    CHECK(need() == Need::none);
    TotalEntry hot = total(150, 100);
    receive(hot);
    pass(2100ms);
    CHECK(view.matters(kLimit));
    CHECK(need() >= Need::must);
}

TEST_CASE_FIXTURE(Fixture,
                  "unanswered deltas are sent again every 60 ms, eight times, then slower") {
    view.sent(own, now);
    admit(50);
    int sent = 0;
    for (int i = 0; i < 60; ++i) {  // 0.6 s
        pass(10ms);
        if (need() < Need::must) {
            continue;
        }
        view.sent(own, now);
        ++sent;
    }
    CHECK(sent >= 7);
    CHECK(sent <= 10);
    sent = 0;
    for (int i = 0; i < 300; ++i) {
        pass(10ms);
        if (need() < Need::must) {
            continue;
        }
        view.sent(own, now);
        ++sent;
    }
    CHECK(sent < 20);
}

TEST_CASE_FIXTURE(Fixture, "an owner that began anew is told everything") {
    own.rate = 0;
    admit(50);
    exchange(50, 0);
    pass(100ms);
    CHECK(need() == Need::none);
    TotalEntry reborn = total(0, 0);
    reborn.life = 4;
    reborn.run = 0;
    receive(reborn);
    CHECK(need() >= Need::must);
}

TEST_CASE_FIXTURE(Fixture, "of an owner that was cut off only its level counts until it answers") {
    // Met again after ten seconds, it publishes what it had of us before it answers us.
    pass(10s);
    admit(3000);
    view.begin_run(own, now - 60s);
    view.sent(own, now);
    TotalEntry publication = total(20, 30);
    publication.admitted = publication.offered = 100;
    receive(publication);
    CHECK(view.bucket().level == 20);
    receive(total(45, 30));
    CHECK(view.bucket().level == 45);
    admit(5);
    receive(total(50, 30));
    CHECK(view.bucket().level == 50);
}

TEST_CASE_FIXTURE(Fixture, "what a new owner may lack is as old as the run") {
    admit(10);
    OwnerView met{gossip::MemberId{Endpoint::v4(2, 2), 2}};
    met.begin_run(own, now);
    CHECK(met.oldest_age(now + 10s) == 10s);
    exchange(10, 0);
    CHECK(view.oldest_age(now) == Duration::zero());
    pass(10s);
    admit(1);
    pass(10ms);
    CHECK(view.oldest_age(now) <= 20ms);
}

TEST_CASE_FIXTURE(
    Fixture, "a view is believed for 2.5 keep-alives, at least a second, and in a hold longer") {
    own.rate = 100;
    exchange(50, 100);  // all of it ours: keep-alive 200 ms
    CHECK(view.fresh(settings, now + 990ms));
    CHECK_FALSE(view.fresh(settings, now + 1010ms));
    CHECK(view.within_hold(settings, 10s, now + 5s));
    CHECK_FALSE(view.within_hold(settings, 10s, now + 12s));
    CHECK_FALSE(view.within_hold(settings, Duration::zero(), now + 2s));
}

TEST_CASE_FIXTURE(Fixture,
                  "a view at rest is believed until its owner is asked in vain, then held") {
    exchange(50, 0);
    CHECK(view.may_rest(settings, now));
    view.rest();
    pass(1h);
    ask_in_vain();
    CHECK(view.within_hold(settings, 10s, now));
    pass(10s);
    CHECK_FALSE(view.within_hold(settings, 10s, now));
    receive(total(50, 0));
    pass(3s);
    CHECK_FALSE(view.fresh(settings, now));  // it does not rest any more
}

TEST_CASE_FIXTURE(Fixture,
                  "a view does not rest while others have load, or the owner holds a share") {
    exchange(50, 20);
    CHECK_FALSE(view.may_rest(settings, now));
    TotalEntry held = total(50, 0);
    held.held = true;
    receive(held);
    CHECK_FALSE(view.may_rest(settings, now));
    receive(total(50, 0));
    CHECK(view.may_rest(settings, now));
    pass(3s);
    CHECK_FALSE(view.may_rest(settings, now));  // not heard for long
}

TEST_CASE_FIXTURE(Fixture, "an owner's first word acknowledges nothing by itself") {
    admit(100);
    view.begin_run(own, now - 20s);
    // It publishes before it was told anything, of a state of long ago.
    TotalEntry early = total(50, 20);
    early.admitted = early.offered = 3;
    receive(early);
    pass(10ms);
    CHECK(view.oldest_age(now) >= 20s);
    CHECK(view.bucket().level < 50 + 97 / 20.0 + 1);
}

TEST_CASE_FIXTURE(Fixture, "an owner that was asked for a second without a word is gone") {
    admit(1);
    exchange(50, 20);
    TotalEntry patient = total(50, 20);
    patient.keep_alive = std::chrono::hours(1);
    patient.pace = 255;
    receive(patient);
    pass(900ms);
    ask_in_vain();
    receive(total(50, 20));
    CHECK(view.fresh(settings, now));
}

TEST_CASE_FIXTURE(Fixture, "what comes here of silent members' load is theirs no more") {
    own.rate = 20;
    exchange(50, 100);
    CHECK(view.others_rate() == testing::plus_minus(80, 0.01));
    // An owner that is heard knows where the load is.
    own.rate = 90;
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == testing::plus_minus(80, 0.01));
    ask_in_vain();
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == testing::plus_minus(10, 0.01));
    CHECK(view.told_others_rate() == testing::plus_minus(80, 0.01));
    own.rate = 200;
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == 0);
    // Chance is no growth, and load that goes again was not theirs.
    own.rate = 20 + limiter::rate_noise(1, 22);
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == testing::plus_minus(80, 0.01));
    own.rate = 0;
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == testing::plus_minus(80, 0.01));
    // Its next word, which acknowledges the rate, says where the load is.
    own.rate = 200;
    view.reckon_moved_load(settings, own, now);
    CHECK(view.others_rate() == 0);
    receive(total(50, 100));
    CHECK(view.others_rate() == testing::plus_minus(10, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "what an owner promises for itself is bounded") {
    exchange(50, 20);
    TotalEntry patient = total(50, 20);
    patient.keep_alive = std::chrono::hours(1);
    patient.pace = 255;
    receive(patient);
    CHECK(view.pace() == settings.largest_pace);
    pass(16s);
    CHECK_FALSE(view.fresh(settings, now));
}

TEST_CASE("keep-alives shorten for a big share and grow when an owner paces") {
    const SyncSettings settings;
    CHECK(keep_alive_of(settings, 1, 100, 0) == 1s);
    CHECK(keep_alive_of(settings, 10, 100, 0) == 500ms);
    CHECK(keep_alive_of(settings, 100, 100, 0) == 200ms);
    CHECK(keep_alive_of(settings, 1, 100, 10) == 2s);
    CHECK(keep_alive_of(settings, 1, 100, 255) == 3s);
}

TEST_CASE(
    "a limit rides along so early that the longest wait for a packet makes it no second old") {
    const SyncSettings settings;
    const Duration alone = ride_along_time(settings, settings.keep_alive, 1);
    CHECK(alone + settings.longest_interval <= settings.keep_alive);
    CHECK(alone > settings.keep_alive / 2);
    // Of very many limits each has its turn: none is mentioned in every packet.
    const Duration many = ride_along_time(settings, settings.keep_alive_floor, 1000);
    CHECK(many == settings.mention_limit * 4 / 5);
    CHECK(ride_along_time(settings, settings.keep_alive_limit, 1000) < settings.keep_alive_limit);
}

}  // namespace
}  // namespace weir::sync
