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
//     limiter_bench [rounds]         all figures
//     limiter_bench [rounds] weir    only ours at 1,000,000 instances, for profilers

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "memory.h"
#include "names.h"
#include "quotas.h"
#include "string_map_limiter.h"

namespace {

using weir::Instant;
using weir::limiter::CheckMode;
using weir::limiter::LeafId;
using weir::limiter::Limiter;
using weir::limiter::ThreadContext;

constexpr std::size_t kBatch = 256;
constexpr std::size_t kBatchesPerRound = 200;
/// Requests between two calls of quiescent(): an event-loop turn with little to do.
constexpr std::size_t kTurn = 4;

double cpu_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Takes results so that no work is left out.
std::atomic<std::size_t> sink{0};

struct Case {
    std::size_t instances;
    std::string_view prefix;
    double step;  // virtual seconds between two requests
};

/// A limiter with all instances made.
class Ours {
  public:
    explicit Ours(const Case& setting)
        : limiter_(std::make_unique<Limiter>(options_for(setting.instances))),
          step_(weir::from_seconds(setting.step)) {
        if (!limiter_->apply(definitions(), instant(1)).empty()) {
            std::abort();
        }
        ThreadContext& thread = limiter_->register_thread(1);
        for (std::size_t i = 0; i < std::max<std::size_t>(1, setting.instances / 2); ++i) {
            const LeafId leaf =
                limiter_->find(thread, name_of(i, setting.prefix).leaf(), instant(1));
            (void)limiter_->check(thread, leaf, {}, instant(1), CheckMode::charge);
            if (i % 64 == 0) {
                limiter_->quiescent(thread);
                limiter_->maintain(instant(1));
            }
        }
        limiter_->quiescent(thread);
        limiter_->maintain(instant(1));
    }
    void track() {
        limiter_->drain_active([](weir::limiter::LimitRef) {});
    }
    ThreadContext& thread(std::uint64_t seed) { return limiter_->register_thread(seed); }
    Limiter& limiter() { return *limiter_; }

    std::size_t run(ThreadContext& thread, const std::vector<Name>& names, Instant& now) {
        std::size_t admitted = 0;
        for (std::size_t i = 0; i < names.size(); ++i) {
            now += step_;
            const LeafId leaf = limiter_->find(thread, names[i].leaf(), now);
            admitted +=
                limiter_->check(thread, leaf, {}, now, CheckMode::charge).admitted ? 1U : 0U;
            if (i % kTurn == 0) {
                limiter_->quiescent(thread);
            }
        }
        return admitted;
    }

  private:
    std::unique_ptr<Limiter> limiter_;
    weir::Duration step_;
};

class Theirs {
  public:
    explicit Theirs(const Case& setting) : limiter_(1000), step_(setting.step) {
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
            admitted += limiter_.check(name.leaf(), name.parent(), "s3", now_) ? 1U : 0U;
        }
        return admitted;
    }

  private:
    StringMapLimiter limiter_;
    double step_;
    double now_ = 10;
};

void draw(std::vector<Name>& names, const Case& setting, weir::Random& random) {
    names.resize(kBatch);
    for (Name& name : names) {
        name =
            name_of(random.below(std::max<std::size_t>(1, setting.instances / 2)), setting.prefix);
    }
}

struct Quartiles {
    double low, median, high;
};
Quartiles quartiles(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

/// Adds the time that work takes.
template <class Work>
void timed(double& sum, Work work) {
    const double begin = cpu_nanoseconds();
    const std::size_t result = work();
    sum += cpu_nanoseconds() - begin;
    sink.fetch_add(result, std::memory_order_relaxed);
}

void compare(const char* title, const Case& setting, int rounds, bool tracked = false) {
    Ours ours(setting);
    Theirs theirs(setting);
    ThreadContext& thread = ours.thread(3);
    weir::Random random(7);
    Instant now = instant(10);
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
        for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
            draw(names, setting, random);
            timed(mine, [&] { return ours.run(thread, names, now); });
            draw(names, setting, random);
            timed(other, [&] { return theirs.run(names); });
            if (tracked) {
                ours.track();
            }
        }
        if (round < 0) {
            continue;  // warms up
        }
        constexpr double kRequests = double{kBatch} * kBatchesPerRound;
        weir_times.push_back(mine / kRequests);
        map_times.push_back(other / kRequests);
        ratios.push_back(mine / other);
    }
    const Quartiles a = quartiles(weir_times);
    const Quartiles b = quartiles(map_times);
    const Quartiles c = quartiles(ratios);
    std::printf("%-34s weir %5.0f (%.0f-%.0f)  map %5.0f (%.0f-%.0f)  ratio %.3f (%.3f-%.3f)\n",
                title, a.median, a.low, a.high, b.median, b.low, b.high, c.median, c.low, c.high);
}

/// CPU time per request of each of `threads` that run at once.
std::vector<double> at_once(Ours& ours, std::vector<ThreadContext*> contexts, const Case& setting) {
    std::vector<double> times(contexts.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        threads.emplace_back([&, i] {
            weir::Random random(i);
            std::vector<Name> names;
            Instant now = instant(10);
            double sum = 0;
            for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
                draw(names, setting, random);
                timed(sum, [&] { return ours.run(*contexts[i], names, now); });
            }
            times[i] = sum / (double{kBatch} * kBatchesPerRound);
        });
    }
    threads.clear();
    return times;
}

void two_threads(const char* title, const Case& setting, int rounds) {
    Ours ours(setting);
    std::vector<ThreadContext*> contexts{&ours.thread(1), &ours.thread(2)};
    std::vector<double> alone;
    std::vector<double> both;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        const double one = at_once(ours, {contexts[0]}, setting)[0];
        const std::vector<double> two = at_once(ours, contexts, setting);
        alone.push_back(one);
        both.push_back((two[0] + two[1]) / 2);
        ratios.push_back(both.back() / one);
    }
    const Quartiles a = quartiles(alone);
    const Quartiles b = quartiles(both);
    const Quartiles c = quartiles(ratios);
    std::printf("%-34s one %5.0f (%.0f-%.0f)  two %5.0f (%.0f-%.0f)  ratio %.3f (%.3f-%.3f)\n",
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

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    if (argc > 2) {
        const std::size_t instances = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1'000'000;
        profile({instances, kLongPrefix, 1e-4}, rounds);
        return 0;
    }
    print_memory(1'000'000);
    std::printf("CPU nanoseconds per request: median (quartiles) of %d rounds\n", rounds);
    compare("10 instances, all admitted", {10, kLongPrefix, 1e-3}, rounds);
    compare("10 instances, 3 of 4 refused", {10, kLongPrefix, 1e-4}, rounds);
    compare("1,000 instances", {1000, kLongPrefix, 1e-4}, rounds);
    compare("10,000 instances", {10'000, kLongPrefix, 1e-4}, rounds);
    compare("1,000,000 instances", {1'000'000, kLongPrefix, 1e-4}, rounds);
    compare("1,000,000, counted for an engine", {1'000'000, kLongPrefix, 1e-4}, rounds, true);
    compare("1,000,000, names of 21 bytes", {1'000'000, kShortPrefix, 1e-4}, rounds);
    two_threads("1,000,000, two threads", {1'000'000, kLongPrefix, 1e-4}, rounds);
    without_quota(rounds);
    return 0;
}
