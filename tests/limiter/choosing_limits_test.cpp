// The figures of docs/choosing-limits.md, made again by the limiter that ships and compared with
// what the page says.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fixture.h"

namespace weir::limiter {
namespace {

using testing::Fixture;

constexpr double kRate = 100;  // of the page's examples, requests per second

struct Borders {
    std::string name;
    double low;
    double high;
};

/// The rows of the page's table, in its order.
const std::vector<Borders>& rows() {
    static const std::vector<Borders> all = {{"low: 0.2s, high: 0.4s", 20, 40},
                                             {"low: 1s, high: 1s", 100, 100},
                                             {"the default (1s, 2s)", 100, 200},
                                             {"low: 5s, high: 6s", 500, 600}};
    return all;
}

/// Share of refused requests, with Poisson arrivals of `load` times the rate.
double refused_share(const Borders& borders, double load, std::uint64_t seed) {
    constexpr double kSeconds = 600;
    Fixture fixture({testing::quota("q", {testing::borders(kRate, borders.low, borders.high)})});
    Random random(seed);
    int offered = 0;
    int refused = 0;
    for (double at = 0; at < kSeconds;) {
        const double gap = random.exponential(load * kRate);
        at += gap;
        fixture.wait(gap);
        ++offered;
        refused += fixture.check("q").admitted ? 0 : 1;
    }
    return static_cast<double>(refused) / offered;
}

/// Requests that pass when all come at one instant and the bucket is empty.
int passed_at_once(const Borders& borders) {
    Fixture fixture({testing::quota("q", {testing::borders(kRate, borders.low, borders.high)})});
    int passed = 0;
    for (int i = 0; i < 2000; ++i) {
        passed += fixture.check("q").admitted ? 1 : 0;
    }
    return passed;
}

/// The cells of the page's row that begins with this text; fails the test when there is none.
std::vector<double> page_row(const std::string& name) {
    std::ifstream page(std::string(WEIR_SOURCE_DIR) + "/docs/choosing-limits.md");
    for (std::string line; std::getline(page, line);) {
        if (line.rfind("| `" + name + "` |", 0) != 0 && line.rfind("| " + name + " |", 0) != 0) {
            continue;
        }
        std::vector<double> cells;
        std::istringstream stream(line.substr(line.find('|', 1) + 1));
        for (std::string cell; std::getline(stream, cell, '|');) {
            if (!cell.empty() && cell != " ") {
                cells.push_back(std::stod(cell));
            }
        }
        return cells;
    }
    FAIL("docs/choosing-limits.md has no row for " << name);
    return {};
}

TEST_CASE("the page about choosing limits tells what the limiter does") {
    const std::vector<double> loads = {0.8, 0.95, 1.0, 1.1, 2.0};
    for (const Borders& row : rows()) {
        CAPTURE(row.name);
        const std::vector<double> said = page_row(row.name);
        REQUIRE(said.size() == loads.size() + 1);
        const int burst = passed_at_once(row);
        MESSAGE(row.name << ": at once " << burst);
        CHECK(std::abs(said[0] - burst) <= 3 + 0.06 * burst);
        for (std::size_t i = 0; i < loads.size(); ++i) {
            CAPTURE(loads[i]);
            const double percent = 100 * refused_share(row, loads[i], 7 + i);
            MESSAGE(row.name << " at " << loads[i] << ": " << percent << " %");
            CHECK(std::abs(said[i + 1] - percent) <= 0.3 + 0.1 * percent);
        }
    }
}

}  // namespace
}  // namespace weir::limiter
