// How often the engine ticks, and how its ticks are counted.

#include "engine/tick_pace.h"

#include <doctest/doctest.h>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

/// Ticks whenever the pace asks for it, until `end`. Returns how often that was.
int tick_until(TickPace& pace, Instant end) {
    int ticks = 0;
    for (Instant now = pace.next(); now < end; now = pace.next()) {
        pace.tick(now);
        ++ticks;
    }
    return ticks;
}

TEST_CASE("the engine rests a second after it last had something to do") {
    TickPace pace;
    const Instant start{1h};
    pace.start(start);
    CHECK(tick_until(pace, start + 1s) == 99);
    CHECK(tick_until(pace, start + 2s) == 20);
    pace.note_work(false, start + 2s);
    CHECK(tick_until(pace, start + 3s) == 20);

    pace.note_work(true, start + 3s);
    CHECK(pace.next() <= start + 3s);  // at once: it rested until now
    pace.tick(start + 3s);
    CHECK(pace.next() == start + 3010ms);
}

TEST_CASE("a tick that must not wait comes soon, and the rest goes on after it") {
    TickPace pace;
    const Instant start{1h};
    pace.start(start);
    tick_until(pace, start + 2s);
    const Instant last = pace.next();
    pace.tick(last);
    pace.hurry(false);
    CHECK(pace.next() == last + 50ms);
    pace.hurry(true);
    CHECK(pace.next() == last + 10ms);
    pace.tick(last + 10ms);
    CHECK(pace.next() == last + 60ms);
}

TEST_CASE("no multiple of ten ticks is left out while the engine rests") {
    for (int before = 0; before < 10; ++before) {
        CAPTURE(before);
        TickPace pace;
        const Instant start{1h};
        pace.start(start);
        for (int i = 1; i <= 100 + before; ++i) {
            pace.tick(start + i * 10ms);
        }
        Instant now = start + 2100ms;
        const std::uint64_t number = pace.number();
        int tenths = 0;
        for (int i = 0; i < 20; ++i, now += 50ms) {
            pace.tick(now);
            tenths += pace.is_tenth() ? 1 : 0;
        }
        CHECK(tenths == 10);
        CHECK(pace.number() > number + 95);
        CHECK(pace.number() <= number + 100);
    }
}

TEST_CASE("a late tick counts as one while there is work") {
    TickPace pace;
    const Instant start{1h};
    pace.start(start);
    pace.tick(start + 10ms);
    pace.tick(start + 400ms);
    CHECK(pace.number() == 2);
}

}  // namespace
}  // namespace weir::engine
