// Threads of a program invent names, each of which is used once, while the control thread does all
// that it does otherwise. No first request is refused.
//
//     WEIR_FRESH_NAMES=1000000 build/release/bin/embed_fresh_names_test
//
// runs it for longer than CI does.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

namespace weir::embed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 2;
constexpr int kNamesPerSecond = 100'000;  // of all threads
constexpr int kTurn = 100;                // names that a thread uses before it looks at the clock

int names_in_all() {
    const char* const given = std::getenv("WEIR_FRESH_NAMES");
    return given == nullptr ? 200'000 : std::atoi(given);
}

/// Uses so many names at an even pace; how many of them were refused.
int use_names(Worker& worker, int number, int count) {
    const auto begin = Clock::now();
    int refused = 0;
    for (int i = 0; i < count; ++i) {
        const std::string name = "user/" + std::to_string(number) + "-" + std::to_string(i);
        refused += worker.check(name).admitted() ? 0 : 1;
        if (i % kTurn == 0) {
            const std::chrono::duration<double> due(static_cast<double>(i) * kThreads /
                                                    kNamesPerSecond);
            std::this_thread::sleep_until(begin + std::chrono::duration_cast<Clock::duration>(due));
        }
    }
    return refused;
}

}  // namespace

TEST_CASE("of the first requests of 100,000 new names a second none is refused") {
    Options options;
    options.quota_document = R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "t",
        "quotas": [{"name": "all", "limits": [{"rate": "1000000000r/s"}]},
                   {"name": "user/{id}", "parent": "all", "limits": [{"rate": "2r/m"}]}]})";
    options.settings = "limiter.max_instances = 2000000";
    auto fleet = Fleet::open(options);
    REQUIRE_MESSAGE(fleet, fleet.failure().message);
    const int count = names_in_all() / kThreads;
    std::atomic<int> refused{0};
    std::atomic<int> running{kThreads};
    int rounds = 0;
    {
        std::vector<std::jthread> threads;
        for (int number = 0; number < kThreads; ++number) {
            threads.emplace_back([&, number] {
                auto worker = fleet->worker();
                refused += worker ? use_names(*worker, number, count) : count;
                --running;
            });
        }
        for (; running > 0; ++rounds) {
            CHECK(fleet->metrics());
            CHECK(fleet->set_quota(
                R"({"name": "edited/{id}", "parent": "all", "limits": [{"rate": ")" +
                    std::to_string(rounds % 9 + 1) + R"(r/s"}]})",
                {"test", "", 0}));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    CHECK(refused == 0);
    CHECK(rounds > 10);
    const std::string page = *fleet->metrics();
    const auto at = page.find("weir_limiter_events_total{event=\"contended\"}");
    REQUIRE(at != std::string::npos);
    MESSAGE(page.substr(at, page.find('\n', at) - at) << " of " << count * kThreads);
}

}  // namespace weir::embed
