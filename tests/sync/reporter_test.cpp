// Which limits the origin's side keeps, when the limiter gives their records to others.

#include "sync/reporter.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "definitions/quota.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "sync/load_meter.h"
#include "sync/origin_fixture.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using definitions::test::quota;
using test::every;
using test::key_of;
using test::Origin;

/// More edits than a quota remembers former limits: the first one's record is given away.
constexpr int kEdits = 20;

TEST_CASE_FIXTURE(Origin, "limits whose records were given to others go, the others stay") {
    edit(every("a", 1s));
    edit(every("b", 1s));
    tick();
    wake("a");
    wake("b");
    tick();
    REQUIRE(reporter.size() == 2);
    for (int i = 2; i <= kEdits; ++i) {
        edit(every("a", i * 1s));
    }
    reporter.drop_changed(now);
    CHECK(reporter.size() == 1);
    CHECK(reporter.find(key_of("a", 1s)) == nullptr);
    REQUIRE(reporter.find(key_of("b", 1s)) != nullptr);
    tick();  // what is left of it in no list is looked at

    use("a");
    tick();
    const QuietLimit* const limit = quiet.find(key_of("a", kEdits * 1s));
    REQUIRE(limit != nullptr);
    CHECK(limit->share.admitted == 1);
    CHECK(reporter.size() == 1);
}

TEST_CASE_FIXTURE(Origin, "a limit without room to wake is told of with a word about that") {
    settings.maximum_synced_limits = 1;
    owners.recompute(
        std::vector<membership::OwnerCandidate>{{{Endpoint::v4(0x0a000001, 7946), 1}, {}}});
    edit(every("a", 1s));
    edit(every("b", 1s));
    tick();
    wake("a");
    tick();
    told.clear();
    answers = false;  // as an owner does that orders to wake
    for (int i = 0; i < 60; ++i) {
        use("b");
    }
    tick();
    REQUIRE(told.size() == 1);
    CHECK_FALSE(told[0].no_room);
    answers = true;
    reporter.wake_quiet(key_of("b", 1s), told[0].run, 0, now, owners);
    CHECK(reporter.find(key_of("b", 1s)) == nullptr);
    tick();
    REQUIRE(told.size() == 2);  // at once, and it is confirmed
    CHECK(told[1].no_room);
    CHECK(told[1].admitted == 60);
    for (int i = 0; i < 30; ++i) {
        tick();
    }
    CHECK(told.size() == 2);
    // There is room.
    settings.maximum_synced_limits = 2;
    reporter.wake_quiet(key_of("b", 1s), told[1].run, told[1].admitted, now, owners);
    CHECK(reporter.find(key_of("b", 1s)) != nullptr);
    CHECK(quiet.find(key_of("b", 1s)) == nullptr);
}

TEST_CASE_FIXTURE(Origin, "a limit that falls quiet where there is no room sleeps on") {
    edit(every("a", 24h));
    edit(every("b", 1s));
    tick();
    use("a");
    wake("b");
    settings.maximum_quiet_limits = 1;
    for (int i = 0; i < 1000; ++i) {
        tick();
    }
    CHECK(reporter.awake() == 0);
    CHECK(statistics.fallen_quiet == 0);
    CHECK(quiet.find(key_of("a", 24h)) != nullptr);
    REQUIRE(reporter.find(key_of("b", 1s)) != nullptr);
    use("b");
    tick();
    CHECK(reporter.awake() == 1);
}

TEST_CASE_FIXTURE(Origin, "very many are dropped in one go, awake or quiet") {
    constexpr int kNames = 500;
    edit(every("k/{key}", 1s));
    edit(every("b", 1s));
    tick();
    wake("b");
    for (int i = 0; i < kNames; ++i) {
        const std::string name = "k/" + std::to_string(i);
        use(name);
    }
    tick();
    for (int i = 0; i < kNames; i += 2) {
        const LimitKey key = key_of("k/" + std::to_string(i), 1s);
        reporter.wake_quiet(key, 0, 0, now, owners);
    }
    tick();
    REQUIRE(reporter.size() == kNames / 2 + 1);
    REQUIRE(quiet.size() == kNames / 2);
    for (int i = 2; i <= kEdits; ++i) {
        edit(every("k/{key}", i * 1s));
    }
    reporter.drop_changed(now);
    quiet.drop_changed();
    CHECK(reporter.size() == 1);
    CHECK(quiet.size() == 0);
    for (int i = 0; i < 10; ++i) {
        tick();
    }
    CHECK(reporter.size() == 1);
}

TEST_CASE_FIXTURE(Origin, "a limit that waited for a place does not tell its whole past at once") {
    settings.maximum_synced_limits = 1;
    edit(quota("first", 100));
    edit(quota("second", 100));
    tick();
    wake("first");
    tick();
    REQUIRE(reporter.size() == 1);
    const SyncedLimit* limit = nullptr;
    int waited = 0;
    for (; waited < 10'000 && limit == nullptr; ++waited) {  // 43/s until the first falls quiet
        CHECK(limiter.memory().views <= 1);
        wake("second");
        now += 13ms;
        limit = reporter.find(key_of("second", 1s));
    }
    REQUIRE(limit != nullptr);
    CHECK(waited > 50);
    CHECK(statistics.dropped_synced_limits > 0);
    tick();
    CHECK(limit->own.admitted <= 2);
    CHECK(limit->own.offered <= 50 * limiter::kRateWindow);
    CHECK(limit->own.rate <= 50);
}

TEST_CASE_FIXTURE(Origin, "without room for all, what is nearest to its limit is told first") {
    const membership::OwnerCandidate owner{{Endpoint::v4(0x0a000001, 7946), 1}, {}};
    static_cast<void>(owners.recompute({&owner, 1}));
    edit(quota("far", 100));
    edit(quota("near", 100));
    tick();
    room = 0;
    wake("far");
    for (int i = 0; i < 40; ++i) {
        use("near");
    }
    wake("near");
    tick();
    CHECK(deltas.empty());
    CHECK(statistics.deltas_put_off >= 2);
    reporter.tell_woken(now, *this);  // a message about others came in
    room = 1;
    tick();
    REQUIRE(deltas.size() == 1);
    CHECK(deltas.front().key == key_of("near", 1s));
    room = 1;
    tick();
    REQUIRE(deltas.size() == 2);
    CHECK(deltas.back().key == key_of("far", 1s));
}

/// A member that owns everything and says of each limit that its level is this.
struct AnsweredOrigin : Origin {
    static constexpr int kLimits = 40;
    AnsweredOrigin() {
        owners.recompute(std::vector<membership::OwnerCandidate>{{owner, {}}});
        for (int i = 0; i < kLimits; ++i) {
            edit(every(name(i), 1s));
        }
        tick();
        for (int i = 0; i < kLimits; ++i) {
            wake(name(i));
        }
    }
    static std::string name(int number) { return "a" + std::to_string(number); }
    void answer(const DeltaEntry& delta, double level) {
        TotalEntry total;
        total.key = delta.key;
        total.life = 3;
        total.filled = true;
        total.level = level;
        total.rate = fleet_rate;
        total.origins = 3;
        total.run = delta.run;
        total.admitted = delta.admitted;
        total.offered = delta.offered;
        static_cast<void>(reporter.receive(owner, total, now));
    }
    /// Two seconds to come to rest, and two in which is counted what is told.
    void run(double level) {
        Instant last = now;
        for (int i = 0; i < 400; ++i) {
            for (int each = 0; i % 4 == 0 && each < kLimits; ++each) {
                use(name(each));
            }
            deltas.clear();
            room = room_each_tick;
            tick();
            for (const DeltaEntry& delta : deltas) {
                answer(delta, level);
            }
            if (i < 200) {
                last = now;
            } else if (!deltas.empty()) {
                told_in_the_end += deltas.size();
                longest = std::max(longest, now - std::exchange(last, now));
            }
        }
    }

    gossip::MemberId owner{Endpoint::v4(0x0a000001, 7946), 1};
    Duration longest{};  // between two packets
    std::size_t told_in_the_end = 0;
    double fleet_rate = 75;
    int room_each_tick = 1'000'000;
};

TEST_CASE_FIXTURE(AnsweredOrigin,
                  "an owner hears of each of many limits in turn, and of one soon") {
    SUBCASE("hot ones") { run(60); }
    SUBCASE("such as are far from their limit") { run(20); }
    // Each is told 1.2 to 2.5 times a second, where it was up to 5 times.
    CHECK(told_in_the_end >= 2 * 1.2 * kLimits);
    CHECK(told_in_the_end <= 2 * 2.5 * kLimits);
    CHECK(longest <= 420ms);
}

TEST_CASE_FIXTURE(AnsweredOrigin, "a round without room for all is soon followed by another one") {
    fleet_rate = 100;  // what is told stays hot
    room_each_tick = 4;
    run(90);
    CHECK(told_in_the_end >= 2 * kLimits);  // with a round every 400 ms it would be 24
}

TEST_CASE("the load is that of the busier direction now, whichever was ahead before") {
    LoadMeter meter;
    Instant at{1h};
    meter.start(at);
    at += 1s;
    CHECK(meter.per_second(9'000'000, 10, at) == doctest::Approx(9'000'000));
    at += 1s;
    CHECK(meter.per_second(9'003'000, 6'010, at) == doctest::Approx(6'000));
    at += 2s;
    CHECK(meter.per_second(9'003'100, 6'010, at) == doctest::Approx(50));
}

TEST_CASE_FIXTURE(Origin, "a run ends long before its counts are more than can be sent") {
    limiter::QuotaDefinition heavy = quota("heavy", 1e13);
    edit(heavy);
    tick();
    const LimitKey key = key_of("heavy", 1s);
    const auto take = [&](double weight) {
        const auto leaf = limiter.find(thread, "heavy", now);
        limiter::Weights weights;
        weights.requests = weight;
        REQUIRE(limiter.check(thread, leaf, weights, now, limiter::CheckMode::charge).admitted);
        limiter.quiescent(thread);
    };
    constexpr double kWeight = 1e12;
    constexpr double kMost = 36'028'797'018'963'968.0;  // 2^55
    double counted = 0;
    std::uint32_t run = 0;
    int runs = 0;
    take(1);
    tick();
    reporter.wake_quiet(key, 0, 0, now, owners);
    tick();
    counted = reporter.find(key)->own.admitted;
    run = reporter.find(key)->run;
    for (int i = 0; i < 40'000; ++i) {
        take(kWeight);
        now += 90ms;
        tick();
        const SyncedLimit* const limit = reporter.find(key_of("heavy", 1s));
        REQUIRE(limit != nullptr);
        if (limit->run != run) {
            run = limit->run;
            ++runs;
            counted = 0;
        }
        counted += kWeight;
        CHECK(limit->own.admitted == doctest::Approx(counted));
        REQUIRE(limit->own.admitted < kMost / 8);
    }
    CHECK(runs > 30);
}

TEST_CASE(
    "the engine keeps nothing under the name of a limit whose record an edit gave to another") {
    constexpr int kNames = 4000;
    limiter::LimiterOptions limits;
    limits.seed = 5;
    limits.max_instances = kNames;  // with 5,096 records on top: not enough for two more limits
    limiter::Limiter limiter{limits};
    limiter::ThreadContext& thread = limiter.register_thread(6);
    engine::EngineOptions options;
    options.advertise = Endpoint::v4(0x0a000001, 7946);
    engine::Engine engine(options, limiter, 7);
    Instant now{1h};
    engine.start(now);
    const auto edit = [&](Duration first, Duration second) {
        limiter::QuotaDefinition definition = every("k/{key}", first);
        definition.limits.push_back(definition.limits[0]);
        definition.limits[1].period = second;
        const definitions::Edit by{.who = "ada", .why = "test", .lifetime = std::nullopt};
        REQUIRE(engine.definitions().set(definition, by, now).has_value());
        now += 10ms;
        engine.tick(now);
        static_cast<void>(engine.take_outgoing());
    };
    edit(1h, 2h);
    for (int i = 0; i < kNames; ++i) {
        const auto leaf = limiter.find(thread, "k/" + std::to_string(i), now);
        REQUIRE(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).admitted);
        limiter.quiescent(thread);
    }
    now += 10ms;
    engine.tick(now);
    REQUIRE(engine.statistics().quiet_synced_limits == 2 * kNames);
    const std::uint64_t cleared = limiter.counters().cleared;
    edit(3h, 4h);
    REQUIRE(limiter.counters().cleared > cleared);
    now += 10ms;
    engine.tick(now);
    CHECK(engine.statistics().synced_limits == 0);
    CHECK(engine.statistics().quiet_synced_limits == 0);
}

}  // namespace
}  // namespace weir::sync
