#include "threads.h"
#include "sim/quota_set.h"

#include <array>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "measure.h"
#include "ours.h"

namespace {

constexpr std::size_t kThreads = 2;
constexpr std::array<std::string_view, kThreads> kRoots{"s3", "gs"};  // of two characters

/// Where a thread's requests go.
struct Load {
    std::size_t leaves;
    std::string_view root;
};

Name random_name(const Load& load, weir::Random& random) {
    Name name = name_of(random.below(load.leaves), kLongPrefix);
    std::memcpy(name.text.data(), load.root.data(), load.root.size());
    return name;
}

class Contest {
  public:
    Contest(std::size_t leaves, bool disjoint) {
        std::vector<weir::limiter::QuotaDefinition> definitions;
        for (std::size_t i = 0; i < kThreads; ++i) {
            loads_[i] = {leaves, kRoots[disjoint ? i : 0]};
            const auto more = tree(std::string(kRoots[i]), 1e9, 1e9);
            definitions.insert(definitions.end(), more.begin(), more.end());
        }
        limiter_ = std::make_unique<Limiter>(options_for(4 * leaves));
        if (!weir::sim::replace_quotas(*limiter_, definitions, now_).empty()) {
            std::abort();
        }
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads_[i] = &limiter_->register_thread(i + 1);
            for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
                Name name = name_of(leaf, kLongPrefix);
                std::memcpy(name.text.data(), loads_[i].root.data(), loads_[i].root.size());
                admitted_ += check(*threads_[i], name, now_);
                limiter_->quiescent(*threads_[i]);
                if (leaf % 64 == 0) {
                    limiter_->maintain(now_);
                }
            }
        }
    }

    /// CPU time per request of `count` threads that run at once; each step of the clock is `step`.
    double run(std::size_t count, weir::Duration step) {
        std::array<double, kThreads> times{};
        std::array<std::size_t, kThreads> admitted{};
        {
            std::vector<std::jthread> threads;
            std::barrier start(static_cast<std::ptrdiff_t>(count));
            for (std::size_t i = 0; i < count; ++i) {
                threads.emplace_back([&, i] {
                    start.arrive_and_wait();
                    work(i, step, times[i], admitted[i]);
                });
            }
            threads.clear();
        }
        now_ += step * static_cast<std::int64_t>(kBatch * kBatchesPerRound);
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            sum += times[i];
            admitted_ += admitted[i];
        }
        return sum / static_cast<double>(count * kBatch * kBatchesPerRound);
    }

    /// What the roots' buckets hold against what was admitted, at a clock that stood still.
    void check_conservation() {
        double levels = 0;
        for (const std::string_view root : kRoots) {
            for (const auto& limit : limiter_->inspect(root, now_)) {
                levels += limit.level;
            }
        }
        double figures = 0;
        limiter_->for_each_statistics(now_, [&](const auto& statistics) {
            figures += statistics.quota == kRoots[0] || statistics.quota == kRoots[1]
                           ? statistics.admitted
                           : 0;
        });
        const auto admitted = static_cast<double>(admitted_);
        if (std::abs(levels - admitted) > 1e-6 * admitted || figures != admitted) {
            std::printf("NOT CONSERVED: admitted %.0f, levels %.3f, counted %.0f\n", admitted,
                        levels, figures);
            std::abort();
        }
    }

  private:
    std::size_t check(ThreadContext& thread, const Name& name, Instant now) {
        const LeafId leaf = limiter_->find(thread, name.leaf(), now);
        return limiter_->check(thread, leaf, {}, now, CheckMode::charge).admitted ? 1 : 0;
    }

    void work(std::size_t index, weir::Duration step, double& time, std::size_t& admitted) {
        weir::Random random(index);
        std::array<Name, kBatch> names;
        Instant now = now_;
        for (std::size_t batch = 0; batch < kBatchesPerRound; ++batch) {
            for (Name& name : names) {
                name = random_name(loads_[index], random);
            }
            timed(time, [&] {
                const std::size_t before = admitted;
                for (std::size_t i = 0; i < kBatch; ++i) {
                    now += step;
                    admitted += check(*threads_[index], names[i], now);
                    if (i % kTurn == 0) {
                        limiter_->quiescent(*threads_[index]);
                    }
                }
                return admitted - before;
            });
        }
        limiter_->quiescent(*threads_[index]);
    }

    std::unique_ptr<Limiter> limiter_;
    std::array<ThreadContext*, kThreads> threads_{};
    std::array<Load, kThreads> loads_{};
    Instant now_ = instant(1);
    std::size_t admitted_ = 0;
};

void compare(const char* title, std::size_t leaves, bool disjoint, int rounds) {
    Contest contest(leaves, disjoint);
    contest.run(kThreads, weir::Duration::zero());
    contest.check_conservation();
    std::vector<double> alone;
    std::vector<double> both;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        alone.push_back(contest.run(1, weir::from_seconds(1e-4)));
        both.push_back(contest.run(kThreads, weir::from_seconds(1e-4)));
        ratios.push_back(both.back() / alone.back());
    }
    const Quartiles a = quartiles(alone);
    const Quartiles b = quartiles(both);
    const Quartiles c = quartiles(ratios);
    std::printf("%-34s one  %5.0f (%.0f-%.0f)  two %5.0f (%.0f-%.0f)  ratio %.3f (%.3f-%.3f)\n",
                title, a.median, a.low, a.high, b.median, b.low, b.high, c.median, c.low, c.high);
}

}  // namespace

void print_threads(int rounds, std::size_t leaves) {
    std::printf("one thread alone and each of two at once; no charge lost or made twice\n");
    compare("the same 100 leaves", 100, false, rounds);
    compare("100 leaves each, two roots", 100, true, rounds);
    compare(("the same " + std::to_string(leaves) + " leaves").c_str(), leaves, false, rounds);
}
