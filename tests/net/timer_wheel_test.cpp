#include "net/timer_wheel.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"

using namespace std::chrono_literals;
using weir::Instant;
using weir::net::TimerEntry;
using weir::net::TimerWheel;

namespace {

struct Alarm final : TimerEntry {
    ~Alarm() override = default;
    void expired() override {
        ++times;
        if (then) {
            then();
        }
    }
    int times = 0;
    std::function<void()> then;
};

constexpr Instant kStart{1'000'003ns};

}  // namespace

TEST_CASE("an entry expires once, never early and at most a tick late") {
    TimerWheel wheel(kStart);
    Alarm alarm;
    wheel.arm(alarm, kStart + 100ms);
    CHECK(wheel.size() == 1);
    wheel.advance(kStart + 99ms);
    CHECK(alarm.times == 0);
    wheel.advance(kStart + 100ms + TimerWheel::kTick);
    CHECK(alarm.times == 1);
    CHECK(!alarm.armed());
    wheel.advance(kStart + 10s);
    CHECK(alarm.times == 1);
    CHECK(wheel.size() == 0);
}

TEST_CASE("a deadline beyond one round of the wheel waits for its own round") {
    TimerWheel wheel(kStart);
    Alarm alarm;
    wheel.arm(alarm, kStart + 300s);
    for (auto now = kStart; now < kStart + 300s; now += 1s) {
        wheel.advance(now);
    }
    CHECK(alarm.times == 0);
    wheel.advance(kStart + 301s);
    CHECK(alarm.times == 1);
}

TEST_CASE("arming again moves, cancelling and destroying take out") {
    TimerWheel wheel(kStart);
    Alarm alarm;
    wheel.arm(alarm, kStart + 50ms);
    wheel.arm(alarm, kStart + 500ms);
    CHECK(wheel.size() == 1);
    wheel.advance(kStart + 200ms);
    CHECK(alarm.times == 0);
    wheel.cancel(alarm);
    wheel.cancel(alarm);
    wheel.advance(kStart + 1s);
    CHECK(alarm.times == 0);
    {
        Alarm short_lived;
        wheel.arm(short_lived, kStart + 2s);
    }
    CHECK(wheel.size() == 0);
    wheel.advance(kStart + 3s);
}

TEST_CASE("expired() may arm itself, cancel a neighbour and destroy another") {
    TimerWheel wheel(kStart);
    Alarm first;
    Alarm second;
    auto third = std::make_unique<Alarm>();
    first.then = [&] {
        wheel.arm(first, kStart + 100ms);  // already due: waits for the next call
        wheel.cancel(second);
        third.reset();
    };
    for (Alarm* alarm : {&first, &second, third.get()}) {
        wheel.arm(*alarm, kStart + 50ms);
    }
    wheel.advance(kStart + 200ms);
    CHECK(first.times == 1);
    CHECK(second.times == 0);
    first.then = nullptr;
    wheel.advance(kStart + 300ms);
    CHECK(first.times == 2);
    CHECK(wheel.size() == 0);
}

TEST_CASE("idle_time is never longer than the way to the next entry") {
    TimerWheel wheel(kStart);
    CHECK(wheel.idle_time(kStart, 500ms) == 500ms);
    Alarm alarm;
    wheel.arm(alarm, kStart + 120ms);
    const auto idle = wheel.idle_time(kStart, 500ms);
    CHECK(idle >= 120ms);
    CHECK(idle <= 120ms + TimerWheel::kTick);
    CHECK(wheel.idle_time(kStart, 50ms) == 50ms);
    wheel.cancel(alarm);
}

TEST_CASE("random arming against a plain list") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        weir::Random random(seed);
        TimerWheel wheel(kStart);
        std::vector<std::unique_ptr<Alarm>> alarms;
        std::vector<Instant> deadlines;
        auto now = kStart;
        for (int step = 0; step < 2000; ++step) {
            if (random.below(3) == 0) {
                const auto delay = weir::Duration(random.below(20'000'000'000));
                alarms.push_back(std::make_unique<Alarm>());
                deadlines.push_back(now + delay);
                wheel.arm(*alarms.back(), deadlines.back());
            }
            now += weir::Duration(random.below(50'000'000));
            wheel.advance(now);
            for (std::size_t i = 0; i < alarms.size(); ++i) {
                if (alarms[i]->times > 0) {
                    REQUIRE(deadlines[i] <= now);
                }
                if (deadlines[i] + 2 * TimerWheel::kTick <= now) {
                    REQUIRE(alarms[i]->times == 1);
                }
            }
        }
        for (auto& alarm : alarms) {
            wheel.cancel(*alarm);
        }
    }
}
