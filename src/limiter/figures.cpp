#include <algorithm>

#include "limiter/implementation.h"

// Figures: counters summed over threads, gauges by one scan of the live instances.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

/// Gauges of one definition while its instances are visited.
struct Gauges {
    double weight = 0;  // offered rates
    double p_sum = 0;
    double p_max = 0;
    double ratio_sum = 0;
    double ratio_max = 0;
    std::uint32_t instances = 0;
    double p_plain = 0;  // unweighted, for when nothing is offered
    double ratio_plain = 0;
};

void add(Gauges& gauges, double p, double ratio, double offered) {
    gauges.weight += offered;
    gauges.p_sum += p * offered;
    gauges.ratio_sum += ratio * offered;
    gauges.p_plain += p;
    gauges.ratio_plain += ratio;
    gauges.p_max = std::max(gauges.p_max, p);
    gauges.ratio_max = std::max(gauges.ratio_max, ratio);
    ++gauges.instances;
}

void fill(const Gauges& gauges, DefinitionStatistics& statistics) {
    constexpr double kNothing = 1e-9;
    const bool offered = gauges.weight > kNothing;
    const double by = offered ? gauges.weight : std::max(1.0, double{1} * gauges.instances);
    statistics.discard_probability_mean = (offered ? gauges.p_sum : gauges.p_plain) / by;
    statistics.level_ratio_mean = (offered ? gauges.ratio_sum : gauges.ratio_plain) / by;
    statistics.discard_probability_max = gauges.p_max;
    statistics.level_ratio_max = gauges.ratio_max;
    statistics.live_instances = gauges.instances;
}

}  // namespace

DefinitionFigureSums Limiter::Implementation::sum_figures(std::uint32_t index) const {
    DefinitionFigureSums sums;
    const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        const DefinitionFigures& figures = threads_[i]->figures[index];
        sums.offered += figures.offered.get();
        sums.admitted += figures.admitted.get();
        sums.refused += figures.refused.get();
        sums.shadow_refused += figures.shadow_refused.get();
        sums.overflowed += figures.overflowed.get();
    }
    if (index < figures_base_.size()) {
        const DefinitionFigureSums& base = figures_base_[index];
        sums.offered -= base.offered;
        sums.admitted -= base.admitted;
        sums.refused -= base.refused;
        sums.shadow_refused -= base.shadow_refused;
        sums.overflowed -= base.overflowed;
    }
    return sums;
}

void Limiter::Implementation::for_each_statistics(
    Instant now, const std::function<void(const DefinitionStatistics&)>& visit) {
    std::vector<Gauges> gauges(options_.max_statistics + std::size_t{1});
    const std::uint32_t end = store_.high_water();
    for (std::uint32_t id = 1; id <= end; ++id) {
        if (!store_.live_head(id)) {
            continue;
        }
        const CompiledDefinition* definition = definition_of(store_.record(id));
        if (definition == nullptr) {
            continue;
        }
        double pass = 1;
        double ratio = 0;
        double offered = 0;
        for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
            LimitRecord& record = store_.record(i);
            const CompiledLimit* limit = definition->find(record.identity(), 0);
            if (limit == nullptr || definition->mode == Mode::off) {
                continue;
            }
            const Bucket bucket{record, store_.view_of(record), *limit};
            const Reading reading = look_at(bucket, nanoseconds(now));
            const double typical = typical_of(record);
            pass *= 1 - discard_probability(bucket, reading, typical, nanoseconds(now));
            ratio = std::max(ratio, std::max(0.0, reading.level) * limit->inverse_low);
            offered = std::max(offered, own_offered_rate(record, nanoseconds(now)) / typical);
        }
        constexpr double kUnused = 1e-9;
        if (definition->overflow && offered < kUnused && !(ratio > 0)) {
            continue;  // waits for its template to overflow
        }
        add(gauges[definition->statistics], 1 - pass, ratio, offered);
    }
    const auto report = [&](std::uint32_t index, std::string_view name,
                            const CompiledDefinition* definition) {
        DefinitionStatistics statistics;
        const DefinitionFigureSums sums = sum_figures(index);
        statistics.quota = name;
        statistics.offered = sums.offered;
        statistics.admitted = sums.admitted;
        statistics.refused = sums.refused;
        statistics.shadow_refused = sums.shadow_refused;
        statistics.overflowed = sums.overflowed;
        if (definition != nullptr) {
            statistics.mode = definition->mode;
            statistics.limits = definition->source.limits;
        }
        fill(gauges[index], statistics);
        visit(statistics);
    };
    bool others = false;
    for (const auto& [name, index] : registry_) {
        const CompiledDefinition& definition = *table_.get(index);
        others = others || definition.statistics == 0;
        if (definition.statistics != 0) {
            report(definition.statistics, name, &definition);
        }
    }
    if (others) {
        report(0, "__other__", nullptr);
    }
}

std::vector<LimitStatus> Limiter::Implementation::inspect(std::string_view quota, Instant now) {
    std::vector<LimitStatus> result;
    const auto entry = store_.names.find(hash(quota));
    if (!entry) {
        return result;
    }
    const std::uint32_t head = leaf_of(*entry).instance;
    const CompiledDefinition* definition = definition_of(store_.record(head));
    for (std::uint32_t id = head; id != 0 && definition != nullptr; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        const CompiledLimit* limit = definition->find(record.identity(), 0);
        if (limit == nullptr) {
            continue;
        }
        const Bucket bucket{record, store_.view_of(record), *limit};
        const Reading reading = look_at(bucket, nanoseconds(now));
        LimitStatus status;
        status.limit =
            definition->source.limits[static_cast<std::size_t>(limit - definition->limits.data())];
        status.parameters = limit->parameters;
        status.level = std::max(0.0, reading.level);
        status.offered_rate = own_offered_rate(record, nanoseconds(now));
        status.has_view = bucket.view != nullptr && bucket.view->installed.load(kRelaxed);
        status.fleet_offered_rate =
            status.has_view ? bucket.view->offered_rate.load(kRelaxed) : status.offered_rate;
        status.discard_probability =
            discard_probability(bucket, reading, typical_of(record), nanoseconds(now));
        status.shedding = (record.control.load(kRelaxed) & kShedding) != 0;
        result.push_back(status);
    }
    return result;
}

Memory Limiter::Implementation::memory() const {
    Memory memory;
    memory.instances = store_.instances() - overflow_instances_;
    memory.records = store_.records_in_use();
    memory.bytes = store_.bytes() + members_.capacity() * sizeof(Members);
    memory.name_bytes = store_.name_bytes();
    memory.views = store_.views_in_use();
    return memory;
}

LimiterCounters Limiter::Implementation::counters() const {
    LimiterCounters counters;
    counters.created = created_.load(kRelaxed);
    counters.replaced = replaced_.load(kRelaxed);
    counters.dropped_idle = dropped_idle_;
    counters.bad_views = bad_views_;
    const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        counters.overflowed += threads_[i]->overflowed.get();
        counters.contended += threads_[i]->contended.get();
        counters.active_dropped += threads_[i]->active_dropped.get();
        counters.clamped_weights += threads_[i]->clamped_weights.get();
    }
    return counters;
}

}  // namespace weir::limiter
