// What a check costs, against a string-keyed map of buckets in the same process (see
// string_map_limiter.h). One request = find by name and check and charge a chain of three quotas
// with one limit each, at random among all leaves; half of the instances are leaves, half are their
// parents, one is the root. Instances are made by names that fall under templates.
//
// Both sides take turns in batches of 256 requests and the ratio is taken per round, because the
// machine may be busy with other work: look at the ratio's median and quartiles. Times are the
// thread's CPU time. The names of a batch are prepared outside the measured time, for in reality
// they have just been parsed.
//
//     limiter_bench [rounds]                        all figures
//     limiter_bench [rounds] weir [n] [seconds]     only ours at n instances, one request every so
//                                                   many virtual seconds, for profilers
//     limiter_bench [rounds] fenced [n]             both at n instances, with a fence before each
//                                                   request, and between routing and check what the
//                                                   proxy does there (between.h)
//     limiter_bench [rounds] threads                two threads against one
//     limiter_bench [rounds] fair                   parents that shed fairly, against ones that do
//                                                   not
//     limiter_bench [rounds] upkeep [n]             an idle sidecar with n live instances
//     limiter_bench [rounds] many [n]               n instances (5,000,000): memory, time, upkeep

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "between.h"
#include "fair.h"
#include "limiter/limiter.h"
#include "measure.h"
#include "memory.h"
#include "names.h"
#include "ours.h"
#include "quotas.h"
#include "string_map_limiter.h"
#include "threads.h"
#include "upkeep.h"

namespace {

class Theirs {
  public:
    explicit Theirs(const Case& setting)
        : limiter_(1000), step_(setting.step), fenced_(setting.fenced) {
        limiter_.reserve(setting.instances + 1);
        for (std::size_t i = 0; i < std::max<std::size_t>(1, setting.instances / 2); ++i) {
            const Name name = name_of(i, setting.prefix);
            (void)limiter_.check(name.leaf(), name.parent(), "s3", 1);
        }
    }
    std::size_t run(const std::vector<Name>& names) {
        std::size_t admitted = 0;
        for (const Name& name : names) {
            now_ += step_;
            if (fenced_) {
                fence();
                sink.fetch_add(between_.work(), std::memory_order_relaxed);
            }
            admitted += limiter_.check(name.leaf(), name.parent(), "s3", now_) ? 1U : 0U;
        }
        return admitted;
    }

  private:
    StringMapLimiter limiter_;
    Between between_;
    double step_;
    bool fenced_;
    double now_ = 10;
};

void compare(const char* title, const Case& setting, int rounds, bool tracked = false) {
    Ours ours(setting);
    Theirs theirs(setting);
    ThreadContext& thread = ours.thread(3);
    weir::Random random(7);
    Instant now = instant(10);
    Between between;
    std::vector<Name> names;
    std::vector<double> weir_times;
    std::vector<double> map_times;
    std::vector<double> ratios;
    if (tracked) {
        ours.track();
    }
    for (int round = -1; round < rounds; ++round) {
        double mine = 0;
        double other = 0;
        double apart = 0;  // what lies between, which both do
        for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
            draw(names, setting, random);
            timed(mine, [&] { return ours.run(thread, names, now); });
            draw(names, setting, random);
            timed(other, [&] { return theirs.run(names); });
            if (setting.fenced) {
                timed(apart, [&] { return between.alone(kBatch); });
            }
            if (tracked) {
                ours.track();
            }
        }
        if (round < 0) {
            continue;  // warms up
        }
        constexpr double kRequests = double{kBatch} * kBatchesPerRound;
        weir_times.push_back((mine - apart) / kRequests);
        map_times.push_back((other - apart) / kRequests);
        ratios.push_back((mine - apart) / (other - apart));
    }
    const Quartiles a = quartiles(weir_times);
    const Quartiles b = quartiles(map_times);
    const Quartiles c = quartiles(ratios);
    std::printf("%-34s weir %5.0f (%.0f-%.0f)  map %5.0f (%.0f-%.0f)  ratio %.3f (%.3f-%.3f)\n",
                title, a.median, a.low, a.high, b.median, b.low, b.high, c.median, c.low, c.high);
}

/// Candidates of a route that have no quota: each a name that falls under no template.
void without_quota(int rounds) {
    const Case setting{10'000, kLongPrefix, 1e-4};
    Ours ours(setting);
    ThreadContext& thread = ours.thread(1);
    weir::Random random(7);
    std::vector<double> times;
    std::vector<std::string> names(kBatch);
    for (int round = 0; round < rounds; ++round) {
        double sum = 0;
        for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
            for (std::string& name : names) {
                name = std::string(name_of(random.below(100'000), kLongPrefix).parent());
                name += "/GetObject";
            }
            timed(sum, [&] {
                std::size_t found = 0;
                for (const std::string& name : names) {
                    found += ours.limiter().find(thread, name, instant(1)) ? 1U : 0U;
                    ours.limiter().quiescent(thread);
                }
                return found;
            });
        }
        times.push_back(sum / (double{kBatch} * kBatchesPerRound));
    }
    const Quartiles a = quartiles(times);
    std::printf("%-34s weir %5.0f (%.0f-%.0f)\n", "a name without a quota", a.median, a.low,
                a.high);
}

void profile(const Case& setting, int rounds) {
    Ours ours(setting);
    ThreadContext& thread = ours.thread(3);
    weir::Random random(7);
    Instant now = instant(10);
    std::vector<Name> names;
    double sum = 0;
    for (int batch = 0; batch < rounds * static_cast<int>(kBatchesPerRound); ++batch) {
        draw(names, setting, random);
        timed(sum, [&] { return ours.run(thread, names, now); });
    }
    std::printf("%.0f ns\n", sum / (rounds * double{kBatch} * kBatchesPerRound));
}

void all(int rounds) {
    print_memory(1'000'000);
    std::printf("CPU nanoseconds per request: median (quartiles) of %d rounds\n", rounds);
    compare("10 instances, all admitted", {10, kLongPrefix, 1e-3}, rounds);
    compare("10 instances, 3 of 4 refused", {10, kLongPrefix, 1e-4}, rounds);
    compare("1,000 instances", {1000, kLongPrefix, 1e-4}, rounds);
    compare("10,000 instances", {10'000, kLongPrefix, 1e-4}, rounds);
    compare("1,000,000 instances", {1'000'000, kLongPrefix, 1e-4}, rounds);
    compare("1,000,000, counted for an engine", {1'000'000, kLongPrefix, 1e-4}, rounds, true);
    compare("1,000,000, a fence before each", {1'000'000, kLongPrefix, 1e-4, true}, rounds);
    compare("1,000,000, names of 21 bytes", {1'000'000, kShortPrefix, 1e-4}, rounds);
    without_quota(rounds);
    print_threads(rounds, 500'000);
    print_upkeep(1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    const std::string_view what = argc > 2 ? argv[2] : "";
    const auto instances = [&](std::size_t otherwise) {
        return argc > 3 ? std::strtoull(argv[3], nullptr, 10) : otherwise;
    };
    if (what == "weir") {
        const double step = argc > 4 ? std::strtod(argv[4], nullptr) : 1e-4;
        profile({instances(1'000'000), kLongPrefix, step}, rounds);
    } else if (what == "fenced") {
        compare("a fence before each request", {instances(1'000'000), kLongPrefix, 1e-4, true},
                rounds);
    } else if (what == "fair") {
        print_fair(rounds);
    } else if (what == "threads") {
        print_threads(rounds, instances(500'000));
    } else if (what == "upkeep") {
        print_upkeep(instances(1'000'000));
    } else if (what == "many") {
        print_memory(instances(5'000'000));
        compare("many instances", {instances(5'000'000), kLongPrefix, 1e-4}, rounds);
        print_upkeep(instances(5'000'000));
    } else {
        all(rounds);
    }
    return 0;
}
