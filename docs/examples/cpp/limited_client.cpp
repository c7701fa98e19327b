// A program that limits the requests that it sends. Several threads send requests to one service,
// and check each request with weir first. So this program and all others of its fleet together stay
// within the quota.
//
//     limited-client SETTINGS QUOTA HOST PORT REQUESTS_PER_SECOND SECONDS
//
// SETTINGS is a file as docs/configuration.md describes it (`cluster` and `quotas` matter here).
// Prints {"offered": ..., "admitted": ..., "refused": ..., "failed": ..., "peers": ...}.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>
#include <weir/weir.hpp>

#include "connection.h"

namespace {

constexpr int kThreads = 2;

struct Plan {
    std::string quota, host, port;
    double rate = 0;
    double seconds = 0;
};

struct Counts {
    std::atomic<long> offered{0}, admitted{0}, refused{0}, failed{0};
};

/// Sends one thread's share of the load at fixed times, whether answers are fast or slow.
void run(weir::Worker& worker, const Plan& plan, Counts& counts) {
    using Clock = std::chrono::steady_clock;
    Connection service(plan.host, plan.port);
    const auto start = Clock::now();
    const std::chrono::duration<double> gap(kThreads / plan.rate);
    const long requests = static_cast<long>(plan.seconds * plan.rate / kThreads);
    for (long i = 0; i < requests; ++i) {
        std::this_thread::sleep_until(
            start + std::chrono::duration_cast<Clock::duration>(static_cast<double>(i) * gap));
        ++counts.offered;
        weir::Decision decision = worker.check(plan.quota);
        if (!decision.admitted()) {
            ++counts.refused;
            continue;
        }
        ++counts.admitted;
        const weir::InFlight flight(worker, decision);  // until the answer is here
        if (service.get("/" + plan.quota + "/from-cpp") == 0) {
            worker.refund(decision.charge());  // the request never arrived
            ++counts.failed;
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: limited-client SETTINGS QUOTA HOST PORT RATE SECONDS\n");
        return 2;
    }
    const Plan plan{arguments[2], arguments[3], arguments[4], std::atof(arguments[5]),
                    std::atof(arguments[6])};
    weir::Options options;
    options.settings_file = arguments[1];
    options.log = [](std::string_view line) {
        std::fprintf(stderr, "weir: %.*s\n", static_cast<int>(line.size()), line.data());
    };
    auto fleet = weir::Fleet::open(options);
    if (!fleet) {
        std::fprintf(stderr, "%s\n", fleet.failure().message.c_str());
        return 1;
    }
    Counts counts;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            auto worker = fleet->worker();
            if (worker) {
                run(*worker, plan, counts);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::printf(
        "{\"offered\": %ld, \"admitted\": %ld, \"refused\": %ld, \"failed\": %ld, "
        "\"peers\": %u}\n",
        counts.offered.load(), counts.admitted.load(), counts.refused.load(), counts.failed.load(),
        fleet->live_peers());
    return 0;
}
