#pragma once
// A limiter with one thread and a virtual clock, for tests.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "sim/quota_set.h"

namespace weir::limiter::testing {

inline RateLimit per_second(double amount) {
    RateLimit limit;
    limit.amount = amount;
    return limit;
}
inline RateLimit per_minute(double amount) {
    RateLimit limit;
    limit.amount = amount;
    limit.period = std::chrono::minutes(1);
    return limit;
}
inline RateLimit borders(double amount, double low, double high) {
    RateLimit limit = per_second(amount);
    limit.low = BurstSpec{BurstSpec::Kind::amount, low};
    limit.high = BurstSpec{BurstSpec::Kind::amount, high};
    return limit;
}
inline QuotaDefinition quota(std::string name, std::vector<RateLimit> limits,
                             std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.limits = std::move(limits);
    definition.parent = std::move(parent);
    return definition;
}

struct Fixture {
    explicit Fixture(std::vector<QuotaDefinition> definitions = {},
                     LimiterOptions options = small())
        : limiter(options), thread(limiter.register_thread(11)) {
        errors = replace(definitions);
        limiter.drain_active(
            [](LimitRef) {});  // from now on the limiter keeps counts for the engine
    }
    static LimiterOptions small() {
        LimiterOptions options;
        options.max_instances = 10'000;
        options.max_views = 1'000;
        options.seed = 5;
        return options;
    }

    /// Replace all definitions, add or change one, or remove one. Each returns the errors, of which
    /// there are none after a success.
    std::vector<definitions::DefinitionError> replace(
        std::span<const QuotaDefinition> definitions) {
        return sim::replace_quotas(limiter, definitions, now);
    }
    std::vector<definitions::DefinitionError> put(const QuotaDefinition& definition) {
        return put(definition, now);
    }
    std::vector<definitions::DefinitionError> put(const QuotaDefinition& definition, Instant at) {
        return sim::put_quota(limiter, definition, at);
    }
    std::vector<definitions::DefinitionError> take_away(std::string_view name) {
        return take_away(name, now);
    }
    std::vector<definitions::DefinitionError> take_away(std::string_view name, Instant at) {
        return sim::take_quota_away(limiter, name, at);
    }

    void wait(double seconds) { now += from_seconds(seconds); }
    LeafId find(std::string_view name) { return limiter.find(thread, name, now); }
    Decision check(std::string_view name, const Weights& weights = {},
                   CheckMode mode = CheckMode::charge) {
        return limiter.check(thread, find(name), weights, now, mode);
    }
    bool admits(std::string_view name, double weight = 1) {
        Weights weights;
        weights.requests = weight;
        return check(name, weights).admitted;
    }
    double level(std::string_view name, std::size_t index = 0) {
        const auto status = limiter.inspect(name, now);
        return index < status.size() ? status[index].level : -1;
    }
    LimitRef reference(std::string_view name, Duration period = std::chrono::seconds(1)) {
        const bool counts = period == Duration::zero();
        return *limiter.lookup(name, Unit::requests, period,
                               counts ? LimitKind::concurrency : LimitKind::rate);
    }
    /// Sends requests at random times (a Poisson process) for some seconds. Returns how many were
    /// admitted.
    double load(std::string_view name, double rate, double seconds, Random& random) {
        const Instant end = now + from_seconds(seconds);
        double admitted = 0;
        for (;;) {
            const Duration gap = from_seconds(random.exponential(rate));
            if (now + gap >= end) {
                now = end;
                return admitted;
            }
            now += gap;
            admitted += admits(name) ? 1 : 0;
        }
    }

    Instant now{std::chrono::hours(1)};
    Limiter limiter;
    ThreadContext& thread;
    std::vector<definitions::DefinitionError> errors;
};

}  // namespace weir::limiter::testing
