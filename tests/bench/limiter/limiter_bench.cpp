// Nanoseconds per check of a chain of three quotas (root, bucket, leaf), found by name, at several
// numbers of live instances, against a map of strings in the same run; two threads at once; bytes
// per instance by what the process grew. Instances are made the way routing makes them: by names
// that fall under templates. Look at the ratios, not at the nanoseconds.

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "string_map_limiter.h"

namespace {

using weir::Duration;
using weir::Instant;
using weir::limiter::CheckMode;
using weir::limiter::Decision;
using weir::limiter::LeafId;
using weir::limiter::Limiter;
using weir::limiter::LimiterOptions;
using weir::limiter::QuotaDefinition;
using weir::limiter::ThreadContext;

/// As many leaves as buckets: a chain adds two instances, the root is everybody's.
struct Name {
    std::array<char, 24> leaf;
    std::uint8_t size;
    std::uint8_t parent_size;
};

std::vector<Name> make_names(std::size_t instances) {
    std::vector<Name> names(std::max<std::size_t>(1, instances / 2));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const int bucket =
            std::snprintf(names[i].leaf.data(), names[i].leaf.size(), "s3/bucket%zu/write", i);
        names[i].size = static_cast<std::uint8_t>(bucket);
        names[i].parent_size = static_cast<std::uint8_t>(bucket - 6);
    }
    return names;
}

std::vector<QuotaDefinition> definitions() {
    QuotaDefinition root{.name = "s3", .parent = {}, .limits = {{.amount = 1e9}}};
    QuotaDefinition bucket{.name = "s3/{bucket}", .parent = "s3", .limits = {{.amount = 1000}}};
    QuotaDefinition leaf{
        .name = "s3/{bucket}/write", .parent = "s3/{bucket}", .limits = {{.amount = 500}}};
    return {root, bucket, leaf};
}

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

Instant instant(double seconds) { return Instant(weir::from_seconds(seconds)); }

/// A limiter with all instances made.
struct World {
    explicit World(std::size_t instances)
        : names(make_names(instances)), limiter(options(instances)) {
        (void)limiter.apply(definitions(), instant(1));
        ThreadContext& thread = limiter.register_thread(1);
        const std::size_t before = resident_bytes();
        for (std::size_t i = 0; i < names.size(); ++i) {
            const LeafId leaf = limiter.find(
                thread, std::string_view(names[i].leaf.data(), names[i].size), instant(1));
            (void)limiter.check(thread, leaf, {}, instant(1), CheckMode::charge);
            if (i % 64 == 0) {
                limiter.quiescent(thread);
                limiter.maintain(instant(1));
            }
        }
        limiter.quiescent(thread);
        limiter.maintain(instant(1));
        limiter.maintain(instant(1));
        grown = resident_bytes() - before;
        for (ThreadContext*& worker : workers) {
            worker = &limiter.register_thread(2);
        }
    }
    static LimiterOptions options(std::size_t instances) {
        LimiterOptions options;
        options.max_instances = static_cast<std::uint32_t>(instances + 16);
        options.seed = 42;
        return options;
    }
    std::vector<Name> names;
    Limiter limiter;
    std::size_t grown = 0;
    std::array<ThreadContext*, 4> workers{};
};

/// Worlds are costly: one at a time, for its size.
World& world(std::size_t instances) {
    static std::unique_ptr<World> current;
    static std::size_t size = 0;
    if (!current || size != instances) {
        current.reset();
        current = std::make_unique<World>(instances);
        size = instances;
    }
    return *current;
}

void chain_of_three(benchmark::State& state) {
    static World* shared = nullptr;
    if (state.thread_index() == 0) {
        shared = &world(static_cast<std::size_t>(state.range(0)));
    }
    weir::Random random(7 + static_cast<std::uint64_t>(state.thread_index()));
    static thread_local double now = 10;  // never backwards, whatever runs are repeated
    ThreadContext* thread = nullptr;
    std::size_t admitted = 0;
    for (auto _ : state) {
        if (thread == nullptr) {
            thread = shared->workers[static_cast<std::size_t>(state.thread_index())];
        }
        const Name& name = shared->names[random.below(shared->names.size())];
        now += 1e-4;
        const LeafId leaf =
            shared->limiter.find(*thread, {name.leaf.data(), name.size}, instant(now));
        const Decision decision =
            shared->limiter.check(*thread, leaf, {}, instant(now), CheckMode::charge);
        admitted += decision.admitted ? 1 : 0;
        shared->limiter.quiescent(*thread);
    }
    benchmark::DoNotOptimize(admitted);
    if (state.thread_index() == 0) {
        const auto memory = shared->limiter.memory();
        const double instances = static_cast<double>(memory.instances);
        state.counters["instances"] = instances;
        state.counters["bytes_each"] = static_cast<double>(memory.bytes) / instances;
        state.counters["resident_each"] = static_cast<double>(shared->grown) / instances;
        state.counters["admitted"] =
            static_cast<double>(admitted) / static_cast<double>(state.iterations());
    }
}

void map_of_strings(benchmark::State& state) {
    const std::vector<Name> names = make_names(static_cast<std::size_t>(state.range(0)));
    StringMapLimiter limiter(1000);
    limiter.reserve(names.size() * 2 + 1);
    for (const Name& name : names) {
        (void)limiter.check({name.leaf.data(), name.size}, {name.leaf.data(), name.parent_size},
                            "s3", 1);
    }
    weir::Random random(7);
    double now = 10;
    std::size_t admitted = 0;
    for (auto _ : state) {
        const Name& name = names[random.below(names.size())];
        now += 1e-4;
        const bool passed = limiter.check({name.leaf.data(), name.size},
                                          {name.leaf.data(), name.parent_size}, "s3", now);
        admitted += std::size_t{passed};
    }
    benchmark::DoNotOptimize(admitted);
}

/// Candidates of a route that have no quota: each a new name under no template.
void name_without_quota(benchmark::State& state) {
    World& here = world(10'000);
    ThreadContext& thread = *here.workers[0];
    std::array<char, 32> text{};
    std::vector<std::string> names;
    for (int i = 0; i < 100'000; ++i) {
        std::snprintf(text.data(), text.size(), "s3/bucket%d/PutObject", i);
        names.emplace_back(text.data());
    }
    weir::Random random(7);
    for (auto _ : state) {
        const std::string& name = names[random.below(names.size())];
        benchmark::DoNotOptimize(here.limiter.find(thread, name, instant(1)));
        here.limiter.quiescent(thread);
    }
}

}  // namespace

BENCHMARK(chain_of_three)->Arg(10)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(map_of_strings)->Arg(10)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(chain_of_three)->Arg(10)->Arg(1'000'000)->Threads(2)->UseRealTime();
BENCHMARK(name_without_quota);

BENCHMARK_MAIN();
