// What a scrape costs where much lives: its size absolutely, its work by counting and by this
// thread's processor time beside that of a scrape where little lives. Real time is only printed:
// this machine may be busy.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include "admin/figures.h"
#include "admin/metrics.h"
#include "admin/sample_sources.h"
#include "definitions/codec.h"
#include "limiter/limiter.h"
#include "sanitized.h"
#include "sim/quota_set.h"

using namespace weir;
using namespace weir::admin;
using namespace std::chrono_literals;

namespace {

/// A page is smaller, whatever there is.
constexpr std::size_t kPage = 1'000'000;
/// Under a sanitizer an eighth of what the test cases are named after.
constexpr std::size_t kManyInstances = eighth_if_sanitized(1'000'000U);
constexpr std::size_t kManyDefinitions = eighth_if_sanitized(500'000U);
constexpr std::size_t kDefinitions = eighth_if_sanitized(100'000U);

limiter::QuotaDefinition quota(std::string name) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    limiter::RateLimit limit;
    limit.amount = 100;
    definition.limits = {limit};
    return definition;
}

/// A name of that many bytes, and two limits.
limiter::QuotaDefinition long_quota(std::size_t i, std::size_t bytes) {
    std::string name = "tenant-" + std::to_string(i) + "-";
    name.resize(std::max(bytes, name.size()), 'x');
    limiter::QuotaDefinition definition = quota(std::move(name));
    limiter::RateLimit hourly;
    hourly.amount = 12'345;
    hourly.period = 1h;
    definition.limits.push_back(hourly);
    return definition;
}

struct World {
    explicit World(std::size_t instances, std::size_t definitions, std::size_t name_bytes = 0)
        : limiter(options(instances)), thread(limiter.register_thread(1)) {
        std::vector<limiter::QuotaDefinition> all{quota("k/{key}")};
        for (std::size_t i = 0; i < definitions; ++i) {
            all.push_back(name_bytes > 0 ? long_quota(i, name_bytes)
                                         : quota("tenant-" + std::to_string(i)));
        }
        REQUIRE(sim::replace_quotas(limiter, all, now).empty());
        for (std::size_t i = 0; i < instances; ++i) {
            const auto leaf = limiter.find(thread, "k/" + std::to_string(i), now);
            static_cast<void>(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge));
            limiter.quiescent(thread);
            if (i % 4096 == 0) {
                limiter.maintain(now);
            }
        }
        sources = test::sample_sources();
        sources.limiter = [this] { return to_figures(limiter, now); };
    }

    static limiter::LimiterOptions options(std::size_t instances) {
        limiter::LimiterOptions options;
        options.max_instances = static_cast<std::uint32_t>(instances + 1);
        options.seed = 1;
        return options;
    }

    [[nodiscard]] std::uint64_t looked_at() const { return limiter.counters().gauged; }

    Instant now{1h};
    limiter::Limiter limiter;
    limiter::ThreadContext& thread;
    MetricsSources sources;
};

void scrape(const World& world, const Metrics& metrics, const char* what) {
    const std::uint64_t before = world.looked_at();
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = metrics.text();
    const auto took = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %zu bytes, %.1f ms\n", what, text.size(),
                std::chrono::duration<double, std::milli>(took).count());
    CHECK(text.size() < kPage);
    CHECK(world.looked_at() - before < 100);  // the many are not looked at for it
}

/// Of this thread: what else the machine does is not in it.
double processor_milliseconds() {
    timespec now{};
    REQUIRE(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Cost {
    double milliseconds = 1e9;  // the least of some, so that a cold cache is not counted
    std::size_t bytes = 0;
};

Cost cost_of_a_scrape(const World& world) {
    Instant now{};
    const Metrics metrics(world.sources, [&] { return now; });
    Cost cost;
    for (int i = 0; i < 20; ++i) {
        now += 1h;  // never the page that was kept
        const double begin = processor_milliseconds();
        cost.bytes = metrics.text().size();
        cost.milliseconds = std::min(cost.milliseconds, processor_milliseconds() - begin);
    }
    return cost;
}

/// Configuration with as many quota sets as there may be, each with the longest of names.
ConfigFigures many_sets() {
    ConfigFigures config = test::sample_config();
    for (std::size_t i = config.quota_sets.size(); i < definitions::DefinitionStore::kMaximumSets;
         ++i) {
        config.quota_sets.push_back(config.quota_sets.front());
        config.quota_sets.back().name = std::to_string(i);
        config.quota_sets.back().name.resize(definitions::kMaximumSetName, 's');
    }
    return config;
}

}  // namespace

TEST_CASE("a scrape of 1,000,000 instances looks at none of them") {
    World world(kManyInstances, 2'000, 60);
    const Metrics metrics(world.sources, [] { return Instant{}; });
    const std::uint64_t before = world.looked_at();
    constexpr int kCalls = 100;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) {
        world.limiter.maintain(world.now);
    }
    std::printf("upkeep of 10 s: %.1f ms\n",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                    .count());
    CHECK(world.looked_at() - before <= kCalls * 16'384);
    scrape(world, metrics, "first scrape of many instances");
    scrape(world, metrics, "second one");
    CHECK(metrics.text().find("\nweir_quota_instances{quota=\"k/{key}\"} " +
                              std::to_string(kManyInstances) + "\n") != std::string::npos);

    // Nor does it cost more than where few live, with as many quotas.
    const World small(2'000, 2'000, 60);
    const Cost few = cost_of_a_scrape(small);
    const Cost many = cost_of_a_scrape(world);
    std::printf("processor time of a scrape: %.2f ms at 2,000 instances, %.2f ms at %zu\n",
                few.milliseconds, many.milliseconds, kManyInstances);
    CHECK(many.bytes < kPage);
    // A look at each of them would be 50 ms more.
    CHECK(many.milliseconds < 3 * few.milliseconds);
}

TEST_CASE("a page stays below its size whatever the names and limits are") {
    for (const std::size_t bytes : {30U, 60U, 200U, 512U}) {
        CAPTURE(bytes);
        World world(100, 3'000, bytes);
        world.sources.config = many_sets;
        // All are used, so that values are long.
        for (std::size_t i = 0; i < 3'000; ++i) {
            const auto leaf =
                world.limiter.find(world.thread, long_quota(i, bytes).name, world.now);
            limiter::Weights weights;
            weights.requests = 1.37 + static_cast<double>(i % 80);
            static_cast<void>(world.limiter.check(world.thread, leaf, weights, world.now,
                                                  limiter::CheckMode::charge));
            world.limiter.quiescent(world.thread);
        }
        world.now += 10ms;
        const Metrics metrics(world.sources, [] { return Instant{}; });
        const std::string text = metrics.text();
        std::printf("names of %zu bytes: a page of %zu bytes\n", bytes, text.size());
        CHECK(text.size() < kPage);
        // Bytes, not places, are short: what there is of them is used.
        CHECK(text.size() > kPage * 3 / 4);
        std::size_t quota_bytes = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            const std::string_view line = std::string_view(text).substr(at, end - at);
            if (line.find("{quota=\"") != std::string_view::npos) {
                quota_bytes += line.size() + 1;
            }
            at = end + 1;
        }
        CHECK(quota_bytes <= world.sources.max_quota_bytes);
        CHECK(text.find("\nweir_quotas 3001\n") != std::string::npos);
        CHECK(text.find("{quota=\"__other__\"}") != std::string::npos);
    }
}

TEST_CASE("a scrape of 100,000 definitions has 1,000 of them, and the rest in one") {
    World world(10, kDefinitions);
    for (int i = 0; i < 100; ++i) {
        world.limiter.maintain(world.now);
    }
    const Metrics metrics(world.sources, [] { return Instant{}; });
    const std::string text = metrics.text();
    CHECK(text.find("\nweir_quotas " + std::to_string(kDefinitions + 1) + "\n") !=
          std::string::npos);
    CHECK(text.find("\nweir_metrics_series_dropped_total " +
                    std::to_string(kDefinitions + 1 - 1000) + "\n") != std::string::npos);
    std::size_t series = 0;
    for (auto at = text.find("\nweir_quota_offered_total{"); at != std::string::npos;
         at = text.find("\nweir_quota_offered_total{", at + 1)) {
        ++series;
    }
    CHECK(series == 1001);
    CHECK(text.size() < kPage);
    scrape(world, metrics, "scrape of many definitions");
}

TEST_CASE("a scrape of 500,000 definitions costs what one of 2,000 does") {
    const World small(10, 2'000);
    const World large(10, kManyDefinitions);
    const Cost few = cost_of_a_scrape(small);
    const Cost many = cost_of_a_scrape(large);
    std::printf("processor time of a scrape: %.2f ms at 2,000 definitions, %.2f ms at %zu\n",
                few.milliseconds, many.milliseconds, kManyDefinitions);
    CHECK(many.bytes < kPage);
    CHECK(many.bytes < few.bytes + few.bytes / 10);
    // 20 ns for each definition would be ten milliseconds more, and four times as much.
    CHECK(many.milliseconds < 3 * few.milliseconds);
}
