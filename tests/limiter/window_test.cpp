// Limits of windows: at most so much is admitted in each window, and windows follow one another by
// the wall clock.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;
using namespace std::chrono_literals;

namespace {

/// 2026-11-28 12:00:00 UTC, which the wall clock shows when a test begins.
constexpr std::int64_t kNoon = 1'795'867'200;

RateLimit window_of(double most, Duration period, WindowStart from = WindowStart::calendar) {
    RateLimit limit = RateLimit::in_window(most, period);
    limit.from = from;
    return limit;
}

struct WindowFixture : Fixture {
    explicit WindowFixture(std::vector<QuotaDefinition> definitions)
        : Fixture(std::move(definitions)) {
        set_clock(0);
        REQUIRE(errors.empty());
    }
    /// Sets the wall clock forward by so much, or backwards.
    void set_clock(std::int64_t seconds) {
        limiter.set_wall_clock(std::chrono::seconds(kNoon + seconds) - began.time_since_epoch());
    }
    [[nodiscard]] std::int64_t second() const { return limiter.wall_second(now); }
    /// How many of so many requests are admitted now.
    int admitted_of(const std::string& name, int requests) {
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            admitted += admits(name) ? 1 : 0;
        }
        return admitted;
    }
    LimitStatus status(const std::string& name, std::size_t index = 0) {
        return limiter.inspect(name, now).at(index);
    }

    const Instant began = now;
};

}  // namespace

TEST_CASE("each window admits as much as the limit says, and the next one begins anew") {
    WindowFixture fixture({quota("a", {window_of(5, 1min)})});
    for (int minute = 0; minute < 4; ++minute) {
        CHECK(fixture.admitted_of("a", 20) == 5);
        fixture.wait(59.9);
        CHECK(fixture.admitted_of("a", 20) == 0);
        fixture.wait(0.1);
    }
}

TEST_CASE("a window that was not used leaves nothing to the next one") {
    WindowFixture fixture({quota("a", {window_of(5, 1min)})});
    fixture.wait(3600);
    CHECK(fixture.admitted_of("a", 20) == 5);
}

TEST_CASE("answers say what is left and when the window ends, in the same second each time") {
    WindowFixture fixture({quota("a", {window_of(5, 1h)})});
    fixture.wait(20.3);
    for (int i = 0; i < 5; ++i) {
        const Decision decision = fixture.check("a");
        CHECK(decision.admitted);
        CHECK(decision.kind == LimitKind::window);
        CHECK(decision.amount == 5);
        CHECK(decision.period == 1h);
        CHECK(decision.remaining == 4 - i);
        CHECK(decision.reset == 3580s);
    }
    for (int i = 0; i < 1000; ++i) {
        const Decision decision = fixture.check("a");
        REQUIRE_FALSE(decision.admitted);
        CHECK(decision.reason == Reason::limit);
        CHECK(decision.remaining == 0);
        const auto reset = std::chrono::duration_cast<std::chrono::seconds>(decision.reset);
        CHECK(decision.reset == reset);
        CHECK(fixture.second() + reset.count() == kNoon + 3600);
        CHECK(decision.retry_after == decision.reset);
        CHECK(decision.wait > decision.reset - 1s);
        CHECK(decision.wait <= decision.reset);
        fixture.wait(0.013);
    }
}

TEST_CASE("the windows of many quotas do not all end at once, and each has its own end for ever") {
    WindowFixture fixture({quota("u/{id}", {window_of(5, 1h, WindowStart::name)})});
    std::vector<std::int64_t> ends;
    for (int i = 0; i < 100; ++i) {
        const std::string name = "u/" + std::to_string(i);
        CHECK(fixture.admits(name));
        ends.push_back(fixture.status(name).window_end);
        CHECK(ends.back() > kNoon);
        CHECK(ends.back() <= kNoon + 3600);
    }
    std::sort(ends.begin(), ends.end());
    CHECK(std::unique(ends.begin(), ends.end()) - ends.begin() > 90);
    CHECK(ends.front() < kNoon + 600);
    CHECK(ends.back() > kNoon + 3000);

    WindowFixture other({quota("u/{id}", {window_of(5, 1h, WindowStart::name)})});
    CHECK(fixture.status("u/7").window_end == [&] {
        CHECK(other.admits("u/7"));
        return other.status("u/7").window_end;
    }());
}

TEST_CASE("a window from the first request begins with it, and is not begun by looking at it") {
    WindowFixture fixture({quota("a", {window_of(3, 1min, WindowStart::first)})});
    fixture.wait(17);
    CHECK(fixture.admits("a"));
    CHECK(fixture.status("a").window_end == kNoon + 77);
    CHECK(fixture.admitted_of("a", 9) == 2);
    fixture.wait(59);
    CHECK(fixture.admitted_of("a", 9) == 0);
    fixture.wait(20);
    CHECK(fixture.status("a").window_end == 0);
    CHECK(fixture.status("a").counted.count == 0);
    CHECK(fixture.status("a").discard_probability == 0);
    fixture.limiter.for_each_statistics(fixture.now, [](const DefinitionStatistics& statistics) {
        CHECK(statistics.counted.at(0).count == 0);
    });
    fixture.wait(100);
    CHECK(fixture.admitted_of("a", 9) == 3);
    CHECK(fixture.status("a").window_end == kNoon + 17 + 59 + 20 + 100 + 60);
}

TEST_CASE("several windows and a rate stand side by side, and only who admits is charged") {
    WindowFixture fixture({quota("a", {window_of(10, 1min), window_of(25, 1h), per_second(8)})});
    CHECK(fixture.admitted_of("a", 50) == 8);
    fixture.wait(1);
    CHECK(fixture.admitted_of("a", 50) == 2);
    CHECK(fixture.status("a", 0).counted.count == 10);
    CHECK(fixture.status("a", 1).counted.count == 10);
    fixture.wait(60);
    CHECK(fixture.admitted_of("a", 8) == 8);
    fixture.wait(60);
    CHECK(fixture.admitted_of("a", 50) == 7);
    CHECK(fixture.check("a").period == 1h);
    CHECK(fixture.status("a", 1).counted.count == 25);
}

TEST_CASE("a rate and a window of the same period are two limits") {
    WindowFixture fixture({quota("a", {per_minute(60), window_of(60, 1min)})});
    CHECK(fixture.admitted_of("a", 100) == 60);
    // The rate would admit a second time as much by the end of its first minute.
    int admitted = 0;
    for (int second = 0; second < 59; ++second) {
        fixture.wait(1);
        admitted += fixture.admitted_of("a", 2);
    }
    CHECK(admitted == 0);
}

TEST_CASE("what is given back counts in its own window only") {
    WindowFixture fixture({quota("a", {window_of(5, 1min)})});
    Decision first = fixture.check("a");
    CHECK(fixture.admitted_of("a", 9) == 4);
    fixture.limiter.refund(fixture.thread, first.charge, fixture.now);
    CHECK(fixture.admitted_of("a", 9) == 1);
    const Decision refused = fixture.check("a");
    CHECK_FALSE(refused.admitted);

    fixture.wait(59);
    fixture.limiter.refund(fixture.thread, first.charge, fixture.now);
    const Decision late = fixture.check("a");
    CHECK(late.admitted);
    fixture.wait(1);
    CHECK(fixture.admitted_of("a", 3) == 3);
    fixture.limiter.refund(fixture.thread, late.charge, fixture.now);
    CHECK(fixture.status("a").counted.count == 3);
    CHECK(fixture.admitted_of("a", 9) == 2);
}

TEST_CASE("response bytes are charged as the mean first, and corrected in their window") {
    RateLimit bytes = window_of(10'000, 1min);
    bytes.unit = Unit::response_bytes;
    WindowFixture fixture({quota("a", {bytes})});
    Decision first = fixture.check("a");
    fixture.limiter.correct(fixture.thread, first.charge, Unit::response_bytes, 4000, fixture.now);
    CHECK(fixture.status("a").counted.count == doctest::Approx(4000));
    Decision second = fixture.check("a");
    CHECK(fixture.status("a").counted.count == doctest::Approx(8000));
    fixture.wait(60);
    fixture.limiter.correct(fixture.thread, second.charge, Unit::response_bytes, 9000, fixture.now);
    CHECK(fixture.check("a").admitted);
    CHECK(fixture.status("a").counted.count < 5000);
}

TEST_CASE("units are obtained from a window as they are there") {
    WindowFixture fixture({quota("a", {window_of(50, 1min)})});
    const LeafId leaf = fixture.find("a");
    Wish wish;
    wish.wanted = 30;
    CHECK(fixture.limiter.obtain(fixture.thread, leaf, wish, fixture.now, CheckMode::charge)
              .granted == 30);
    Grant rest = fixture.limiter.obtain(fixture.thread, leaf, wish, fixture.now, CheckMode::charge);
    CHECK(rest.granted == 20);
    fixture.limiter.give_back(fixture.thread, rest.decision.charge, 5, fixture.now);
    CHECK(fixture.admitted_of("a", 9) == 5);
    wish.minimum = 51;
    wish.wanted = 60;
    CHECK(fixture.limiter.obtain(fixture.thread, leaf, wish, fixture.now, CheckMode::charge)
              .decision.reason == Reason::too_much);
}

TEST_CASE("shadow, off, peeking and zero do with windows what they do with rates") {
    QuotaDefinition shadow = quota("shadow", {window_of(5, 1min)});
    shadow.mode = Mode::shadow;
    QuotaDefinition off = quota("off", {window_of(5, 1min)});
    off.mode = Mode::off;
    WindowFixture fixture(
        {shadow, off, quota("zero", {window_of(0, 1min)}), quota("a", {window_of(1, 1min)})});
    CHECK(fixture.admitted_of("shadow", 20) == 20);
    CHECK(fixture.status("shadow").counted.count == 5);
    CHECK(fixture.admitted_of("off", 20) == 20);
    CHECK(fixture.check("zero").reason == Reason::zero);
    CHECK(fixture.check("a", {}, CheckMode::peek).admitted);
    CHECK(fixture.status("a").counted.count == 0);
    CHECK(fixture.admitted_of("a", 5) == 1);
}

TEST_CASE("an instance stays while its window counts, and goes when that has ended") {
    WindowFixture fixture({quota("u/{id}", {window_of(5, 1h)})});
    CHECK(fixture.admitted_of("u/1", 9) == 5);
    for (int second = 0; second < 3590; ++second) {
        fixture.wait(1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.limiter.memory().instances == 1);
    CHECK(fixture.admitted_of("u/1", 9) == 0);
    for (int second = 0; second < 700; ++second) {
        fixture.wait(1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.limiter.memory().instances == 0);
}

TEST_CASE("a changed amount keeps the count, and a changed schedule the window until its end") {
    WindowFixture fixture({quota("a", {window_of(10, 1h)})});
    CHECK(fixture.admitted_of("a", 8) == 8);
    CHECK(fixture.put(quota("a", {window_of(12, 1h)})).empty());
    CHECK(fixture.admitted_of("a", 20) == 4);
    CHECK(fixture.put(quota("a", {window_of(5, 1h)})).empty());
    CHECK(fixture.admitted_of("a", 20) == 0);
    CHECK(fixture.put(quota("a", {window_of(20, 1h, WindowStart::first)})).empty());
    fixture.wait(600);
    CHECK(fixture.admitted_of("a", 20) == 8);
    CHECK(fixture.status("a").window_end == kNoon + 3600);
    fixture.wait(3100);
    CHECK(fixture.admitted_of("a", 30) == 20);
    CHECK(fixture.status("a").window_end == kNoon + 3700 + 3600);
}

TEST_CASE("a window that has begun ends when it was to end, also when the clock is set") {
    WindowFixture fixture({quota("a", {window_of(5, 1h)})});
    fixture.wait(1200);
    CHECK(fixture.admitted_of("a", 9) == 5);
    SUBCASE("forwards, to within the window") {
        fixture.set_clock(1000);
        CHECK(fixture.admitted_of("a", 9) == 0);
        CHECK(fixture.status("a").window_end == kNoon + 3600);
        CHECK(fixture.check("a").reset == 1400s);
    }
    SUBCASE("forwards, beyond its end") {
        fixture.set_clock(3600);
        CHECK(fixture.admitted_of("a", 9) == 5);
    }
    SUBCASE("backwards, to before its beginning: it is not made longer") {
        fixture.set_clock(-3600);
        CHECK(fixture.admitted_of("a", 9) == 5);
        CHECK(fixture.status("a").window_end == kNoon);
    }
}

TEST_CASE("a thread whose time is a moment older does not begin the last window again") {
    WindowFixture fixture({quota("a", {window_of(5, 1min)})});
    CHECK(fixture.admitted_of("a", 9) == 5);
    fixture.wait(60);
    CHECK(fixture.admitted_of("a", 3) == 3);
    fixture.wait(-0.01);
    CHECK(fixture.admitted_of("a", 9) == 2);
    fixture.wait(0.02);
    CHECK(fixture.admitted_of("a", 9) == 0);
}

TEST_CASE("a limit that becomes this process's own may be used as a whole") {
    RateLimit limit = window_of(90, 1h);
    WindowFixture fixture({quota("a", {limit})});
    fixture.limiter.share_windows(3, 0);
    CHECK(fixture.admitted_of("a", 200) == 30);
    limit.scope = Scope::sidecar;
    CHECK(fixture.put(quota("a", {limit})).empty());
    CHECK(fixture.admitted_of("a", 200) == 60);
}

TEST_CASE("a window that an edit has added gives nothing back that it was not charged") {
    WindowFixture fixture({quota("a", {per_minute(60)})});
    const Decision before = fixture.check("a");
    CHECK(fixture.put(quota("a", {per_minute(60), window_of(5, 1h)})).empty());
    CHECK(fixture.admitted_of("a", 9) == 5);
    fixture.limiter.refund(fixture.thread, before.charge, fixture.now);
    CHECK(fixture.admitted_of("a", 9) == 0);
}

TEST_CASE("threads admit exactly the limit of each window together") {
    WindowFixture fixture({quota("a", {window_of(1000, 1min)})});
    std::vector<ThreadContext*> contexts;
    for (std::uint64_t t = 0; t < 4; ++t) {
        contexts.push_back(&fixture.limiter.register_thread(100 + t));
    }
    std::atomic<int> admitted{0};
    for (int minute = 0; minute < 20; ++minute) {
        admitted = 0;
        std::vector<std::thread> threads;
        for (ThreadContext* const context_of_thread : contexts) {
            threads.emplace_back([&, context_of_thread] {
                ThreadContext& context = *context_of_thread;
                const LeafId leaf = fixture.limiter.find(context, "a", fixture.now);
                // The thread that begins the window may be stopped in the middle. Until it goes on,
                // the others are refused.
                for (int refused = 0; refused < 300;) {
                    const auto mode = CheckMode::charge;
                    const bool passes =
                        fixture.limiter.check(context, leaf, {}, fixture.now, mode).admitted;
                    admitted += passes ? 1 : 0;
                    refused = passes ? 0 : refused + 1;
                    if (!passes) {
                        std::this_thread::yield();
                    }
                }
                fixture.limiter.quiescent(context);
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        CHECK(admitted == 1000);
        fixture.wait(60);
    }
}
