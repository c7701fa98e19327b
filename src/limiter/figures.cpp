#include <algorithm>

#include "limiter/implementation.h"

// Figures: counters summed over threads; gauges by looking at the live instances, all at once if
// they are few, else some at each maintain().

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

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
        sums.refunded += figures.refunded.get();
        sums.overflowed += figures.overflowed.get();
    }
    if (index < figures_base_.size()) {
        const DefinitionFigureSums& base = figures_base_[index];
        sums.offered -= base.offered;
        sums.admitted -= base.admitted;
        sums.refused -= base.refused;
        sums.shadow_refused -= base.shadow_refused;
        sums.refunded -= base.refunded;
        sums.overflowed -= base.overflowed;
    }
    return sums;
}

/// Adds what one live instance shows to its definition's gauges.
void Limiter::Implementation::gauge(std::uint32_t id, const CompiledDefinition& definition,
                                    Instant now, Gauges& gauges) {
    double pass = 1;
    double ratio = 0;
    double offered = 0;
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        const CompiledLimit* limit = definition.find(record.identity(), 0);
        if (limit == nullptr || definition.mode == Mode::off) {
            continue;
        }
        const Bucket bucket{record, store_.view_of(record), in_force(*limit, record)};
        const Reading reading = look_at(bucket, nanoseconds(now));
        const double typical = typical_of(record);
        pass *= refuses_isolated(*limit, record)
                    ? 0
                    : 1 - discard_probability(bucket, reading, typical, nanoseconds(now));
        ratio = std::max(ratio, std::max(0.0, reading.level) * limit->inverse_low);
        offered = std::max(offered, own_offered_rate(record, nanoseconds(now)) / typical);
    }
    constexpr double kUnused = 1e-9;
    if (definition.overflow && offered < kUnused && !(ratio > 0)) {
        return;  // waits for its template to overflow
    }
    add(gauges, 1 - pass, ratio, offered);
}

/// The records from..to; what they show goes to the gauges by index of figures.
void Limiter::Implementation::gauge_records(std::uint32_t from, std::uint32_t to, Instant now,
                                            std::vector<Gauges>& gauges) {
    for (std::uint32_t id = from; id <= to; ++id) {
        if (!store_.live_head(id)) {
            continue;
        }
        if (const CompiledDefinition* definition = definition_of(store_.record(id))) {
            gauge(id, *definition, now, gauges[definition->statistics]);
        }
    }
    gauged_ += to >= from ? to - from + 1 : 0;
}

/// The next part of the round over all instances; what the last whole round saw is shown.
void Limiter::Implementation::survey(Instant now) {
    const std::uint32_t end = store_.high_water();
    if (end <= kGaugedAtOnce) {
        surveyed_.clear();
        survey_hand_ = 0;
        return;
    }
    const std::size_t figures = options_.max_statistics + std::size_t{1};
    if (survey_hand_ == 0) {
        surveying_.assign(figures, {});
    }
    const std::uint32_t to = std::min(end, survey_hand_ + kGaugedAtOnce);
    gauge_records(survey_hand_ + 1, to, now, surveying_);
    survey_hand_ = to;
    if (to == end) {
        surveyed_.swap(surveying_);
        survey_hand_ = 0;
    }
}

DefinitionStatistics Limiter::Implementation::to_statistics(std::uint32_t index,
                                                            std::string_view name,
                                                            const CompiledDefinition* definition,
                                                            const Gauges& gauges) const {
    DefinitionStatistics statistics;
    const DefinitionFigureSums sums = sum_figures(index);
    statistics.quota = name;
    statistics.offered = sums.offered;
    statistics.admitted = sums.admitted;
    statistics.refused = sums.refused;
    statistics.shadow_refused = sums.shadow_refused;
    statistics.refunded = sums.refunded;
    statistics.overflowed = sums.overflowed;
    if (definition != nullptr) {
        statistics.mode = definition->mode;
        statistics.limits = definition->source.limits;
    }
    fill(gauges, statistics);
    return statistics;
}

/// The definition's instances by its ring, a bounded number of them.
std::optional<DefinitionStatistics> Limiter::Implementation::statistics_of(
    std::string_view definition, Instant now) {
    constexpr std::uint32_t kMostInstances = 10'000;
    const auto known = registry_.find(std::string(definition));
    if (known == registry_.end()) {
        return std::nullopt;
    }
    const CompiledDefinition& compiled = *table_.get(known->second);
    Gauges gauges;
    const auto visit = [&](std::uint32_t index) {
        store_.lock.lock();
        const Members& members = members_[index];
        std::uint32_t id = members.hand;
        for (std::uint32_t left = std::min(members.live, kMostInstances); left > 0; --left) {
            gauge(id, *table_.get(index), now, gauges);
            id = store_.info(id).next;
        }
        const std::uint32_t beyond = members.live - std::min(members.live, kMostInstances);
        store_.lock.unlock();
        return beyond;
    };
    std::uint32_t beyond = visit(known->second);
    if (const std::uint32_t overflow = members_[known->second].overflow_definition; overflow != 0) {
        beyond += visit(overflow);
    }
    DefinitionStatistics statistics =
        to_statistics(compiled.statistics, known->first, &compiled, gauges);
    if (compiled.statistics == 0) {  // shares its counters with others: of no use here
        statistics.offered = statistics.admitted = statistics.refused = 0;
        statistics.shadow_refused = statistics.refunded = 0;
        statistics.overflowed = 0;
    }
    statistics.live_instances += beyond;
    return statistics;
}

void Limiter::Implementation::for_each_statistics(
    Instant now, const std::function<void(const DefinitionStatistics&)>& visit) {
    std::vector<Gauges> all;
    if (store_.high_water() <= kGaugedAtOnce) {
        all.resize(options_.max_statistics + std::size_t{1});
        gauge_records(1, store_.high_water(), now, all);
    }
    const std::vector<Gauges>& gauges = all.empty() ? surveyed_ : all;
    const auto report = [&](std::uint32_t index, std::string_view name,
                            const CompiledDefinition* definition) {
        visit(to_statistics(index, name, definition,
                            index < gauges.size() ? gauges[index] : Gauges{}));
    };
    for (std::uint32_t index = 1; index < figure_owners_.size(); ++index) {
        if (figure_owners_[index] != 0) {
            const CompiledDefinition& definition = *table_.get(figure_owners_[index]);
            report(index, definition.source.name, &definition);
        }
    }
    if (registry_.size() > figures_in_use()) {
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
        const Bucket bucket{record, store_.view_of(record), in_force(*limit, record)};
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
            refuses_isolated(*limit, record)
                ? 1
                : discard_probability(bucket, reading, typical_of(record), nanoseconds(now));
        status.isolated = is_isolated(record);
        status.shedding = (record.control.load(kRelaxed) & kShedding) != 0;
        result.push_back(status);
    }
    return result;
}

Memory Limiter::Implementation::memory() const {
    Memory memory;
    const std::lock_guard creation(store_.lock);  // workers make instances meanwhile
    memory.instances = store_.instances() - overflow_instances_;
    memory.records = store_.records_in_use();
    memory.bytes = store_.bytes() + members_.capacity() * sizeof(Members);
    memory.name_bytes = store_.name_bytes();
    memory.views = store_.views_in_use();
    memory.definitions = registry_.size();
    memory.awaiting_room = awaiting_room_.size();
    return memory;
}

LimiterCounters Limiter::Implementation::counters() const {
    LimiterCounters counters;
    counters.created = created_.load(kRelaxed);
    counters.replaced = replaced_.load(kRelaxed);
    counters.searched = searched_.load(kRelaxed);
    counters.dropped_idle = dropped_idle_;
    counters.swept = swept_;
    counters.gauged = gauged_;
    counters.bad_views = bad_views_;
    counters.cleared = cleared_records_;
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
