// How old what is known of others is, number by number; whole fleets are in tests/sim.

#include <doctest/doctest.h>

#include <optional>

#include "owned_fixture.h"
#include "sync/synced_limit.h"

namespace weir::sync {
namespace {

using test::member;

constexpr MemberNumber kSelf = 0;

struct OwnerFixture : test::OwnedFixture {
    OwnerFixture() {
        silence.set_self(silence.id(kSelf).address);
        now += 5s;
    }
    void hear(MemberNumber from, double rate) {
        silence.heard(from, now);
        receive(from, delta(10, 10, rate));
    }
    std::optional<Duration> age() {
        limit.judge_silence(settings, silence, now);
        if (!limit.oldest_word) {
            return std::nullopt;
        }
        return now - *limit.oldest_word;
    }
};

TEST_CASE_FIXTURE(OwnerFixture,
                  "an owner's knowledge is as old as the oldest last word of another") {
    CHECK_FALSE(age());
    hear(kSelf, 50);
    now += 300ms;
    CHECK_FALSE(age());  // ourselves we know
    hear(1, 50);
    now += 100ms;
    hear(2, 50);
    now += 50ms;
    CHECK(age() == 150ms);
    hear(1, 50);
    CHECK(age() == 50ms);
}

TEST_CASE_FIXTURE(OwnerFixture, "who told that it has no rate is not waited for") {
    hear(1, 50);
    hear(2, 0);
    now += 400ms;
    hear(1, 50);
    CHECK(age() == 0ms);
    hear(1, 0);
    now += 400ms;
    CHECK_FALSE(age());
}

TEST_CASE_FIXTURE(OwnerFixture,
                  "silence ages, also of one that was given up or held, until it is forgotten") {
    hear(1, 50);
    hear(2, 50);
    for (const Duration silent : {2500ms, 2600ms, 12'000ms, 60'000ms, 75'000ms}) {
        CHECK(age() <= silent);
        now = Instant(std::chrono::seconds(1005)) + silent;
        CHECK(age() == silent);
    }
    now += 1ms;
    CHECK_FALSE(age());
}

TEST_CASE_FIXTURE(OwnerFixture, "an optimistic limit holds nobody, and ages all the same") {
    limit.when_isolated = limiter::IsolationMode::optimistic;
    hear(1, 50);
    hear(2, 50);
    now += 8s;
    CHECK(age() == 8s);
    CHECK(age() == 8s);
}

TEST_CASE_FIXTURE(OwnerFixture,
                  "who speaks of other limits only has left this one after ten seconds") {
    hear(1, 50);
    now += 10s;
    silence.heard(1, now);
    CHECK(age() == 10s);
    now += 1ms;
    CHECK_FALSE(age());
}

TEST_CASE_FIXTURE(OwnerFixture,
                  "a goodbye ends it, and so does another incarnation at the address") {
    hear(1, 50);
    hear(2, 50);
    hear(3, 50);
    now += 5s;
    CHECK(age() == 5s);
    silence.gone(member(1), now);
    silence.gone(member(2), now);
    CHECK(age() == 5s);
    gossip::MemberId other = member(4);
    other.incarnation = 99;
    silence.joined(other);
    CHECK(age() == 5s);
    other = member(3);
    other.incarnation = 99;
    silence.joined(other);
    CHECK_FALSE(age());
    silence.joined(member(3));  // it was that one that was there last
    CHECK(age() == 5s);
}

TEST_CASE_FIXTURE(OwnerFixture, "an owner that begins anew knows of nobody") {
    hear(1, 50);
    now += 300ms;
    CHECK(age() == 300ms);
    limit.restart(2, now);
    CHECK_FALSE(limit.oldest_word);
    CHECK_FALSE(age());
}

struct OriginFixture {
    SyncSettings settings;
    SyncedLimit limit;
    Instant now{std::chrono::seconds(1000)};

    OriginFixture() {
        limit.parameters = limiter::LimitParameters{100, 100, 200, -1, limiter::Law::adaptive};
        limit.run = 7;
        limit.woken = now;
        limit.own.rate = 20;
    }
    void hear(std::uint32_t owner, double level) {
        limit.view_of(member(owner))->sent(limit.own, now);
        TotalEntry entry;
        entry.run = limit.run;
        entry.admitted = limit.own.admitted;
        entry.offered = limit.own.offered;
        entry.life = 3;
        entry.filled = true;
        entry.level = level;
        entry.rate = 20;
        REQUIRE(limit.view_of(member(owner))
                    ->receive(settings, limit.parameters, entry, limit.run, limit.own, now));
    }
    Duration age() { return limit.staleness(settings, Side{}, member(kSelf), now); }
};

TEST_CASE_FIXTURE(
    OriginFixture,
    "the believed owner's word counts; when all are silent the youngest goes on ageing") {
    limit.set_owners({member(1), member(2)}, member(kSelf));
    CHECK(age() == 0ms);
    hear(1, 50);
    now += 100ms;
    hear(2, 20);
    now += 100ms;
    CHECK(age() == 200ms);  // the one with the higher level
    // Neither at the end of the hold time nor later does it become young.
    for (const Duration silent : {1s, 5s, 11s, 12s, 60s, 4000s}) {
        now = Instant(std::chrono::seconds(1000)) + 100ms + silent;
        if (silent > 10s) {
            limit.isolation.mode = limiter::IsolationMode::optimistic;
        }
        CHECK(age() >= silent);
        CHECK(age() <= silent + 100ms);
    }
    hear(2, 20);
    CHECK(age() == 0ms);
}

TEST_CASE_FIXTURE(OriginFixture, "our own view says nothing of the others' silence") {
    limit.set_owners({member(kSelf), member(1)}, member(kSelf));
    hear(kSelf, 50);
    now += 300ms;
    CHECK(age() == 0ms);  // nobody else was ever heard
    hear(1, 20);
    hear(kSelf, 50);
    now += 500ms;
    CHECK(age() == 0ms);  // our own sum is believed: how old that is the owner knows
    now += 4500ms;
    hear(kSelf, 50);
    CHECK(age() == 5s);
}

TEST_CASE_FIXTURE(OriginFixture, "an owner that was given up for dead is missed for an hour") {
    limit.set_owners({member(kSelf)}, member(kSelf));
    now += 10s;
    CHECK(age() == 0ms);
    limit.last_word = now;
    now += 1h - 1ms;
    CHECK(age() == 1h - 1ms);
    now += 1ms;
    CHECK(age() == 0ms);
}

TEST_CASE_FIXTURE(
    OriginFixture,
    "an owner that knows of no load here is not asked: new load waits from its begin") {
    limit.set_owners({member(1)}, member(kSelf));
    OwnerView& view = *limit.view_of(member(1));
    hear(1, 50);
    now += 900ms;
    CHECK(age() == 900ms);
    limit.own.rate = 0;  // the load has ended; the owner does not know that yet
    now += 50ms;
    CHECK(age() == 950ms);
    hear(1, 40);
    now += 950ms;
    view.advance(limit.parameters, limit.own, now);
    CHECK(age() == 0ms);
    // A request after a pause: until its owner has answered, its own age counts.
    limit.own.admitted += 1;
    limit.own.offered += 1;
    limit.own.rate = 3;
    limit.own.since = now;
    now += 30ms;
    view.advance(limit.parameters, limit.own, now);
    CHECK(age() == 30ms);
    view.sent(limit.own, now);
    now += 20ms;
    CHECK(age() == 50ms);
    hear(1, 41);
    CHECK(age() < 50ms);
    now += 500ms;
    CHECK(age() >= 500ms);
}

TEST_CASE_FIXTURE(OriginFixture, "what a new owner has not acknowledged yet makes nothing older") {
    // It has heard of this run before, and says so before it is told of it again.
    limit.own.admitted = limit.own.offered = 10;
    limit.run_began = now;
    now += 1h;
    limit.woken = now - 5s;
    limit.set_owners({member(1)}, member(kSelf));
    TotalEntry entry;
    entry.life = 3;
    entry.filled = true;
    entry.run = limit.run;
    entry.admitted = entry.offered = 3;
    REQUIRE(limit.view_of(member(1))->receive(settings, limit.parameters, entry, limit.run,
                                              limit.own, now));
    now += 40ms;
    CHECK(age() == 40ms);
}

TEST_CASE_FIXTURE(OriginFixture, "a limit that slept was not told anything meanwhile") {
    limit.set_owners({member(1)}, member(kSelf));
    hear(1, 50);
    now += 60s;
    CHECK(age() == 60s);
    limit.woken = now;
    CHECK(age() == 0ms);
    now += 3s;  // asked since, and not answered
    CHECK(age() == 3s);
}

TEST_CASE_FIXTURE(OriginFixture,
                  "an owner that was told all, and that no load is left, is not asked") {
    limit.set_owners({member(1), member(2)}, member(kSelf));
    limit.own.offered = limit.own.admitted = 1;
    limit.own.rate = 3;  // of one request
    const Side side;
    const auto tell = [&](std::uint32_t owner, double rate) {
        OriginCounts told = limit.own;
        told.rate = rate;
        limit.view_of(member(owner))->sent(told, now);
        TotalEntry entry;
        entry.life = 3;
        entry.filled = true;
        entry.level = 50 + owner;  // the second one is believed
        entry.run = limit.run;
        entry.admitted = entry.offered = limit.own.offered;
        REQUIRE(limit.view_of(member(owner))
                    ->receive(settings, limit.parameters, entry, limit.run, limit.own, now));
    };
    CHECK_FALSE(limit.told_no_load(settings, side, now));  // nobody was told anything
    tell(1, 0);
    tell(2, 3);
    CHECK_FALSE(limit.told_no_load(settings, side, now));
    tell(2, 0);
    tell(1, 3);
    CHECK(limit.told_no_load(settings, side, now));  // what the other one was told does not matter
    limit.own.offered += 1;
    CHECK_FALSE(limit.told_no_load(settings, side, now));
}

}  // namespace
}  // namespace weir::sync
