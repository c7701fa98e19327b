#include "proxy/restart_pauses.h"

#include <doctest/doctest.h>

#include <limits>

using namespace std::chrono_literals;
using weir::proxy::RestartPauses;

TEST_CASE("pauses double up to their bound, and stay there however long an upstream is away") {
    RestartPauses pauses;
    for (const auto expected : {10ms, 20ms, 40ms, 80ms, 160ms}) {
        CHECK(pauses.next(1) == expected);
    }
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(pauses.next(1) == 160ms);
    }
}

TEST_CASE("with many addresses pauses are longer, but never longer than a second") {
    RestartPauses pauses;
    CHECK(pauses.next(3) == 30ms);
    CHECK(pauses.next(64) == 1s);
    CHECK(pauses.next(1) == 40ms);
    CHECK(pauses.next(0) == 80ms);
    CHECK(pauses.next(3) == 480ms);
    CHECK(pauses.next(std::numeric_limits<std::size_t>::max()) == 1s);
}
