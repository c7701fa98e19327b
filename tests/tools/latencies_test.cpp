#include "tools/latencies.h"

#include <doctest/doctest.h>

namespace weir::tools {
namespace {

TEST_CASE("quantiles lie within an eighth of an octave above the true ones") {
    Latencies latencies;
    CHECK(latencies.quantile_ms(0.5) == 0);
    for (std::int64_t i = 1; i <= 1000; ++i) {
        latencies.add(i * 100'000);  // 0.1 ms to 100 ms
    }
    CHECK(latencies.quantile_ms(0.5) >= 50);
    CHECK(latencies.quantile_ms(0.5) < 50 * 1.14);
    CHECK(latencies.quantile_ms(0.99) >= 99);
    CHECK(latencies.quantile_ms(0.99) <= 100);
    CHECK(latencies.max_ms() == doctest::Approx(100));
    CHECK(latencies.count() == 1000);
}

}  // namespace
}  // namespace weir::tools
