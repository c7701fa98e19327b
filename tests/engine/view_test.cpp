#include "engine/view.h"

#include <doctest/doctest.h>

namespace weir::engine {
namespace {

const limiter::LimitParameters kLimit{100, 100, 200, -1, limiter::Law::adaptive};

struct Fixture {
    SyncSettings settings;
    View view{gossip::MemberId{Endpoint::v4(1, 1), 1}};
    OriginCounts own;
    Thresholds thresholds{5, 10};
    Instant now{std::chrono::seconds(1000)};

    Fixture() {
        view.begin_run(own, now);
        own.since = now;
    }
    gossip::TotalEntry total(double level, double rate) const {
        gossip::TotalEntry entry;
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
    bool receive(const gossip::TotalEntry& entry) {
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
    void exchange(double level, double rate) {
        view.sent(own, now);
        receive(total(level, rate));
    }
};

TEST_CASE_FIXTURE(Fixture, "an owner is asked at once when it is met, and only once") {
    CHECK(need() == Need::must);
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

TEST_CASE_FIXTURE(Fixture, "a total counts what we admitted beyond the acknowledged count") {
    exchange(50, 0);
    admit(4);
    view.sent(own, now);
    const gossip::TotalEntry answer = total(54, 0);
    admit(3);
    receive(answer);
    CHECK(view.bucket().level == doctest::Approx(57));
    // A late answer of before changes nothing.
    gossip::TotalEntry late = answer;
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
    gossip::TotalEntry publication = total(0, 40);
    publication.admitted = publication.offered = 0;
    receive(publication);
    CHECK(view.bucket().level == doctest::Approx(0).epsilon(0.01));
}

TEST_CASE_FIXTURE(Fixture,
                  "it sends when what was done differs by the threshold; half-way rides along") {
    exchange(0, 0);
    pass(50ms);
    CHECK(need() == Need::none);
    admit(2.6);
    CHECK(need() == Need::ride_along);
    admit(2.6);
    CHECK(need() == Need::must);
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
    CHECK(need() != Need::must);
    pass(20ms);
    CHECK(need() == Need::must);
}

TEST_CASE_FIXTURE(Fixture, "a hot level is polled even when there is nothing to tell") {
    exchange(150, 0);
    pass(100ms);
    CHECK(need() == Need::none);
    gossip::TotalEntry hot = total(150, 100);
    receive(hot);
    pass(2100ms);
    CHECK(view.matters(kLimit));
    CHECK(need() == Need::must);
}

TEST_CASE_FIXTURE(Fixture,
                  "unanswered deltas are sent again every 60 ms, eight times, then slower") {
    view.sent(own, now);
    admit(50);
    int sent = 0;
    for (int i = 0; i < 60; ++i) {  // 0.6 s
        pass(10ms);
        if (need() != Need::must) continue;
        view.sent(own, now);
        ++sent;
    }
    CHECK(sent >= 7);
    CHECK(sent <= 10);
    sent = 0;
    for (int i = 0; i < 300; ++i) {
        pass(10ms);
        if (need() != Need::must) continue;
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
    gossip::TotalEntry reborn = total(0, 0);
    reborn.life = 4;
    reborn.run = 0;
    receive(reborn);
    CHECK(need() == Need::must);
}

TEST_CASE_FIXTURE(Fixture, "what a new owner may lack is as old as the run") {
    admit(10);
    View met{gossip::MemberId{Endpoint::v4(2, 2), 2}};
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

TEST_CASE("keep-alives shorten for a big share and grow when an owner paces") {
    const SyncSettings settings;
    CHECK(keep_alive_of(settings, 1, 100, 0) == 1s);
    CHECK(keep_alive_of(settings, 10, 100, 0) == 500ms);
    CHECK(keep_alive_of(settings, 100, 100, 0) == 200ms);
    CHECK(keep_alive_of(settings, 1, 100, 10) == 2s);
    CHECK(keep_alive_of(settings, 1, 100, 255) == 3s);
}

}  // namespace
}  // namespace weir::engine
