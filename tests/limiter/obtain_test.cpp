#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

Grant obtain(Fixture& fixture, std::string_view name, double wanted, double minimum = 0,
             CheckMode mode = CheckMode::charge, const Weights& each = {}) {
    const Wish wish{wanted, minimum, each};
    return fixture.limiter.obtain(fixture.thread, fixture.find(name), wish, fixture.now, mode);
}

double granted(Fixture& fixture, std::string_view name, double wanted, double minimum = 0) {
    return obtain(fixture, name, wanted, minimum).granted;
}

RateLimit edge(double amount, double low) { return borders(amount, low, low); }

DefinitionStatistics figures(Fixture& fixture, std::string_view name) {
    return *fixture.limiter.statistics_of(name, fixture.now);
}

}  // namespace

TEST_CASE("obtain gives what is free up to low, and charges it once") {
    Fixture fixture({quota("a", {edge(10, 10)})});
    const Grant first = obtain(fixture, "a", 4);
    CHECK(first.granted == 4);
    CHECK(first.decision.admitted);
    CHECK(first.decision.remaining == 6);
    CHECK(fixture.level("a") == 4);
    CHECK(granted(fixture, "a", 100) == 6);
    const Grant none = obtain(fixture, "a", 100);
    CHECK(none.granted == 0);
    CHECK_FALSE(none.decision.admitted);
    CHECK(none.decision.quota == "a");
    CHECK(none.decision.reason == Reason::limit);
    CHECK(to_seconds(none.decision.reset) == doctest::Approx(0.1));
    fixture.wait(0.25);
    CHECK(granted(fixture, "a", 100) == 2);  // a part is a whole number
    CHECK(fixture.level("a") == doctest::Approx(9.5));
}

TEST_CASE("below the minimum it is nothing, and the answer says when the minimum is free") {
    Fixture fixture({quota("a", {edge(10, 10)})});
    CHECK(granted(fixture, "a", 7) == 7);
    const Grant none = obtain(fixture, "a", 10, 5);
    CHECK(none.granted == 0);
    CHECK_FALSE(none.decision.charge);
    CHECK(fixture.level("a") == 7);
    CHECK(to_seconds(none.decision.reset) == doctest::Approx(0.2));
    fixture.wait(0.2);
    CHECK(granted(fixture, "a", 10, 5) == 5);
}

TEST_CASE("a minimum that low never has room for is told apart") {
    Fixture fixture({quota("p", {edge(10, 10)}), quota("a", {edge(100, 100)}, "p")});
    const Grant none = obtain(fixture, "a", 20, 11);
    CHECK(none.decision.reason == Reason::too_much);
    CHECK(none.decision.quota == "p");
    CHECK(none.decision.retry_after == std::chrono::seconds(60));
    CHECK(fixture.level("p") == 0);
    CHECK(granted(fixture, "a", 20, 10) == 10);
    // A single unit that is heavier than low passes when the bucket is empty, as in a check.
    fixture.wait(10);
    Weights heavy;
    heavy.requests = 25;
    CHECK(obtain(fixture, "a", 3, 1, CheckMode::charge, heavy).granted == 1);
    CHECK(fixture.level("p") == 25);
}

TEST_CASE("a chain gives what its tightest level has, and all levels are charged the same") {
    Fixture fixture({quota("top", {edge(100, 50)}), quota("mid", {edge(100, 30)}, "top"),
                     quota("a", {edge(100, 40)}, "mid"), quota("b", {edge(100, 40)}, "mid")});
    CHECK(granted(fixture, "a", 1000) == 30);
    for (const char* name : {"top", "mid", "a"}) {
        CHECK(fixture.level(name) == 30);
    }
    const Grant none = obtain(fixture, "b", 1000);
    CHECK(none.decision.quota == "mid");
    CHECK(fixture.level("b") == 0);
    CHECK(fixture.level("top") == 30);
}

TEST_CASE("units of any weight and unit, and fractions") {
    auto both = quota("both", {edge(1000, 1000), edge(100, 100)});
    both.limits[0].unit = Unit::request_bytes;
    Fixture fixture({quota("a", {edge(10, 10)}), both});
    CHECK(granted(fixture, "a", 2.5) == 2.5);
    CHECK(granted(fixture, "a", 0.25) == 0.25);
    CHECK(granted(fixture, "a", 8.5) == 7);  // of 7.25
    CHECK(granted(fixture, "a", 0.5) == 0);  // a part of a unit is not given
    const Grant bytes = obtain(fixture, "both", 1e6, 0, CheckMode::charge,
                               {.requests = 0.5, .request_bytes = 64, .cost = 0});
    CHECK(bytes.granted == 15);
    CHECK(fixture.level("both", 0) == 960);
    CHECK(fixture.level("both", 1) == 7.5);
    CHECK(bytes.decision.charge.weights.request_bytes == 960);
}

TEST_CASE("a weight above the largest that is allowed counts as that one") {
    LimiterOptions options = Fixture::small();
    options.max_weight = 100;
    Fixture fixture({quota("a", {edge(1000, 1000)})}, options);
    CHECK(granted(fixture, "a", 1e9) == 100);
    CHECK(fixture.limiter.counters().clamped_weights == 1);
    CHECK(granted(fixture, "a", 1e9, 100) == 100);
    const double level = fixture.level("a");
    const Grant none = obtain(fixture, "a", 1e9, 101);
    CHECK(none.granted == 0);
    CHECK_FALSE(none.decision.admitted);
    CHECK(none.decision.reason == Reason::too_much);
    CHECK(fixture.level("a") == level);
    Fixture wide({quota("free", {})});
    CHECK(granted(wide, "free", 7) == 7);
}

TEST_CASE("names without quota, limits of 0, modes and peeks") {
    auto shadow = quota("shadow", {edge(10, 10)});
    shadow.mode = Mode::shadow;
    auto off = quota("off", {edge(10, 10)});
    off.mode = Mode::off;
    Fixture fixture({quota("zero", {per_second(0)}), shadow, off, quota("a", {edge(10, 10)})});
    const Grant nobody = obtain(fixture, "nobody", 5);
    CHECK(nobody.granted == 5);
    CHECK(nobody.decision.reason == Reason::no_quota);
    CHECK(obtain(fixture, "zero", 5).decision.reason == Reason::zero);
    CHECK(obtain(fixture, "zero", 5, 5).decision.reason == Reason::zero);
    CHECK(granted(fixture, "off", 1000) == 1000);
    const Grant shadowed = obtain(fixture, "shadow", 25);
    CHECK(shadowed.granted == 25);
    CHECK(shadowed.decision.shadow_refused);
    CHECK(fixture.level("shadow") == 10);  // as if it were enforced
    CHECK(figures(fixture, "shadow").shadow_refused == 15);
    CHECK(obtain(fixture, "a", 4, 0, CheckMode::peek).granted == 4);
    CHECK(fixture.level("a") == 0);
    CHECK(figures(fixture, "a").offered == 0);
    CHECK(obtain(fixture, "a", 25, 0, CheckMode::charge_without_judging).granted == 25);
    CHECK(fixture.level("a") > 10);
}

TEST_CASE("a quota that refuses for a share of keys obtains for each key as it is") {
    auto some = quota("k/{id}", {edge(10, 10)});
    some.enforced_share = 0.5;
    Fixture fixture({some});
    int whole = 0;
    for (int i = 0; i < 200; ++i) {
        const double got = granted(fixture, "k/" + std::to_string(i), 20);
        CHECK((got == 10 || got == 20));
        whole += got == 20 ? 1 : 0;
    }
    CHECK(whole > 70);
    CHECK(whole < 130);
}

TEST_CASE("response bytes are not known, so they are not taken, but a full limit refuses") {
    auto bytes = quota("a", {edge(10, 10), edge(1000, 1000)});
    bytes.limits[1].unit = Unit::response_bytes;
    Fixture fixture({bytes});
    Grant first = obtain(fixture, "a", 5);
    CHECK(first.granted == 5);
    CHECK(fixture.level("a", 1) == 0);
    fixture.limiter.correct(fixture.thread, first.decision.charge, Unit::response_bytes, 1500,
                            fixture.now);
    CHECK(fixture.level("a", 1) == 1500);
    CHECK(granted(fixture, "a", 5) == 0);
}

TEST_CASE("figures: of what is wanted, what is free and a little more counts as offered") {
    Fixture fixture({quota("p", {edge(100, 100)}), quota("a", {edge(10, 10)}, "p")});
    CHECK(granted(fixture, "a", 4) == 4);
    CHECK(granted(fixture, "a", 1e9) == 6);
    CHECK(figures(fixture, "a").offered == 12);
    CHECK(figures(fixture, "a").admitted == 10);
    CHECK(figures(fixture, "a").refused == 2);
    CHECK(figures(fixture, "p").refused == 0);
    CHECK(figures(fixture, "p").admitted == 10);
}

TEST_CASE("what was not used is given back, once") {
    Fixture fixture({quota("p", {edge(100, 100)}), quota("a", {edge(50, 50)}, "p")});
    Grant grant = obtain(fixture, "a", 40);
    Charge& charge = grant.decision.charge;
    fixture.limiter.give_back(fixture.thread, charge, 15, fixture.now);
    CHECK(fixture.level("a") == 25);
    CHECK(fixture.level("p") == 25);
    fixture.limiter.give_back(fixture.thread, charge, 1000, fixture.now);
    fixture.limiter.give_back(fixture.thread, charge, 1, fixture.now);
    CHECK(fixture.level("a") == 0);
    CHECK(figures(fixture, "a").refunded == 40);
    Decision one = fixture.check("a");
    fixture.limiter.give_back(fixture.thread, one.charge, 1, fixture.now);
    CHECK(fixture.level("a") == 0);
}

TEST_CASE("above low a soft limit grants the share that it does not shed") {
    Fixture fixture({quota("a", {per_second(100)})});
    // Checks at five times the rate keep the level between the borders.
    Random random(3);
    double obtained = 0;
    double checked = 0;
    for (int i = 0; i < 30'000; ++i) {
        fixture.wait(random.exponential(500));
        if (i % 10 == 0) {
            obtained += granted(fixture, "a", 10);
        } else {
            checked += fixture.admits("a") ? 1 : 0;
        }
        if (i == 5000) {
            obtained = checked = 0;
        }
    }
    // 25,000 in 50 s at 100/s. Of what is offered, half comes as single requests and half in tens.
    CHECK(obtained + checked == doctest::Approx(5000).epsilon(0.03));
    CHECK(obtained / (obtained + checked) > 0.4);
    CHECK(obtained / (obtained + checked) < 0.6);
}

TEST_CASE(
    "all or nothing is granted as often as the law says, so that the fleet can reckon with it") {
    Fixture fixture({quota("a", {per_second(100)})});
    Random random(5);
    double obtained = 0;
    for (int i = 0; i < 30'000; ++i) {
        fixture.wait(random.exponential(50));
        const double got = granted(fixture, "a", 10, 10);
        CHECK((got == 0 || got == 10));
        obtained += i < 5000 ? 0 : got;
    }
    CHECK(obtained / 500 == doctest::Approx(100).epsilon(0.03));
}

TEST_CASE("obtaining one unit is refused as often as a single request") {
    const auto share = [](bool by_check) {
        Fixture fixture({quota("a", {per_second(100)})});
        Random random(4);
        double got = 0;
        for (int i = 0; i < 40'000; ++i) {
            fixture.wait(random.exponential(300));
            got += by_check ? (fixture.admits("a") ? 1 : 0) : granted(fixture, "a", 1);
        }
        return got / 40'000;
    };
    CHECK(share(false) == doctest::Approx(share(true)).epsilon(0.02));
}

TEST_CASE("callers in a closed loop get the rate and no more, however much they want") {
    for (const double want : {1.0, 7.0, 1e6}) {
        for (const auto& limit : {per_second(100), edge(100, 20), per_minute(60)}) {
            CAPTURE(want);
            CAPTURE(limit.amount);
            Fixture fixture({quota("a", {limit})});
            const LimitParameters parameters = limit.resolved();
            double sum = 0;
            for (int i = 0; i < 60'000; ++i) {
                fixture.wait(0.001);
                sum += granted(fixture, "a", want);
            }
            CHECK(sum <= parameters.high + parameters.rate * 60 + 1);
            CHECK(sum >= parameters.low + parameters.rate * 60 - 10);
        }
    }
}

TEST_CASE("isolated limits: pessimistic ones refuse, a safe capacity is what there is") {
    auto pessimistic = quota("no", {edge(10, 10)});
    pessimistic.when_isolated = IsolationMode::pessimistic;
    auto safe = quota("safe", {edge(100, 100)});
    safe.limits[0].safe = 5;
    Fixture fixture({pessimistic, safe});
    CHECK(granted(fixture, "no", 1) == 1);
    CHECK(granted(fixture, "safe", 1) == 1);
    for (const char* name : {"no", "safe"}) {
        REQUIRE(fixture.limiter.isolate(fixture.reference(name), true, fixture.now));
    }
    CHECK(obtain(fixture, "no", 1).decision.reason == Reason::isolated);
    const double part = granted(fixture, "safe", 100);
    CHECK(part > 0);
    CHECK(part <= 10);
}

TEST_CASE("threads that obtain at once never get more than there is") {
    for (const bool hard : {true, false}) {
        const RateLimit limit = hard ? edge(1, 10'000) : borders(1, 10'000, 20'000);
        Fixture fixture({quota("p", {limit}), quota("a", {edge(1, 1e9)}, "p"),
                         quota("b", {edge(1, 1e9)}, "p")});
        constexpr int kThreads = 4;
        std::vector<ThreadContext*> contexts;
        for (int i = 0; i < kThreads; ++i) {
            contexts.push_back(&fixture.limiter.register_thread(static_cast<std::uint64_t>(i)));
        }
        std::atomic<double> sum = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < kThreads; ++i) {
                threads.emplace_back([&, i] {
                    double mine = 0;
                    for (int n = 0; n < 5000; ++n) {
                        const LeafId leaf =
                            fixture.limiter.find(*contexts[static_cast<std::size_t>(i)],
                                                 (i + n) % 2 == 0 ? "a" : "b", fixture.now);
                        mine += fixture.limiter
                                    .obtain(*contexts[static_cast<std::size_t>(i)], leaf,
                                            Wish{7, 0, {}}, fixture.now, CheckMode::charge)
                                    .granted;
                        fixture.limiter.quiescent(*contexts[static_cast<std::size_t>(i)]);
                    }
                    sum.fetch_add(mine);
                });
            }
        }
        CAPTURE(hard);
        CHECK(fixture.level("p") == doctest::Approx(sum.load()));
        CHECK(fixture.level("a") + fixture.level("b") == doctest::Approx(sum.load()));
        CHECK(sum.load() >= 10'000 - 7);
        CHECK(sum.load() <= (hard ? 10'000 : 20'000 + 7 * kThreads));
    }
}
