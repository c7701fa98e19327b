#include "limiter/figures.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket.h"

namespace weir::limiter {
namespace {

/// How many records are read for gauges at a time.
constexpr std::uint32_t kGaugedAtOnce = 16'384;
/// A round of survey() takes at least so many calls, because nobody asks for gauges more often.
constexpr std::uint32_t kCallsEachRound = 10;
/// How many instances of one definition statistics_of() looks at.
constexpr std::uint32_t kMostInstances = 10'000;
/// A rate below this counts as 0.
constexpr double kNothing = 1e-9;
/// So does that of a limit which was not used for three seconds, ten times the window of rates.
constexpr auto kForgottenTicks = static_cast<std::uint32_t>(10 * kRateWindow / kTickSeconds);

bool is_offered(const LimitRecord& record, std::int64_t now) {
    const Recent recent = unpack_recent(record.recent.load(kRelaxed));
    return ticks_between(recent.tick, tick_of(now)) < kForgottenTicks;
}

/// The chance that a typical request is refused by this limit now.
double chance_of(const Bucket& bucket, const CompiledLimit& limit, const Reading& reading,
                 std::int64_t now) {
    return refuses_isolated(limit, bucket.record)
               ? 1
               : discard_probability(bucket, reading, typical_of(bucket.record), now);
}

CountedHere counted_here(const LimitRecord& record, const LimitParameters& limit,
                         const Reading& reading) {
    WEIR_ASSERT(limit.only_counts());
    const double allowance =
        limit.window ? window_allowance(record, limit) : allowance_of(record, limit);
    const double kept = limit.low - allowance;
    return {std::max(0.0, reading.level - kept), allowance};
}

/// How full the limit is: level over low or, of one that only counts, what this process has over
/// the part of the limit that it may use.
double fullness(const Bucket& bucket, const CompiledLimit& limit, const Reading& reading) {
    if (!limit.parameters.only_counts()) {
        return std::max(0.0, reading.level) * limit.inverse_low;
    }
    const CountedHere here = counted_here(bucket.record, limit.parameters, reading);
    WEIR_ASSERT(here.allowance >= 0);
    return here.count / std::max(1.0, here.allowance);
}

}  // namespace

void Figures::Sums::add(const DefinitionFigures& figures) {
    offered += figures.offered.get();
    admitted += figures.admitted.get();
    refused += figures.refused.get();
    shadow_refused += figures.shadow_refused.get();
    refunded += figures.refunded.get();
    overflowed += figures.overflowed.get();
    waited += figures.waited.get();
}

void Figures::Sums::subtract(const Sums& other) {
    offered -= other.offered;
    admitted -= other.admitted;
    refused -= other.refused;
    shadow_refused -= other.shadow_refused;
    refunded -= other.refunded;
    overflowed -= other.overflowed;
    waited -= other.waited;
}

void Figures::Gauges::add(double p, double ratio, double offered) {
    weight += offered;
    p_sum += p * offered;
    ratio_sum += ratio * offered;
    p_plain += p;
    ratio_plain += ratio;
    p_max = std::max(p_max, p);
    ratio_max = std::max(ratio_max, ratio);
    ++instances;
}

void Figures::Gauges::fill(DefinitionStatistics& statistics) const {
    const bool offered = weight > kNothing;
    const double by = offered ? weight : std::max(1.0, double{1} * instances);
    WEIR_ASSERT(by > 0);
    statistics.discard_probability_mean = (offered ? p_sum : p_plain) / by;
    statistics.level_ratio_mean = (offered ? ratio_sum : ratio_plain) / by;
    statistics.discard_probability_max = p_max;
    statistics.level_ratio_max = ratio_max;
    statistics.live_instances = instances;
    statistics.counted = counts;
}

// --- slots ---------------------------------------------------------------------------------------

std::uint32_t Figures::take_slot() {
    std::uint32_t slot = 0;
    if (!free_slots_.empty()) {
        slot = free_slots_.back();
        free_slots_.pop_back();
    } else if (slots_used_ <= options_.max_statistics) {
        slot = slots_used_++;
    }
    if (slot == 0) {
        return 0;
    }
    WEIR_ASSERT(slot <= options_.max_statistics);
    bases_.resize(std::max<std::size_t>(bases_.size(), std::size_t{slot} + 1));
    bases_[slot] = {};
    bases_[slot] = sum(slot);
    owners_.resize(bases_.size());
    if (survey_hand_ != 0) {  // a round is under way
        surveying_.resize(std::max<std::size_t>(surveying_.size(), slots_used_));
    }
    for (std::vector<Gauges>* gauges : {&surveying_, &surveyed_}) {
        if (slot < gauges->size()) {
            (*gauges)[slot] = {};
        }
    }
    return slot;
}

void Figures::set_owner(std::uint32_t slot, std::uint32_t definition) {
    WEIR_ASSERT(slot < slots_used_);
    if (slot != 0) {
        owners_[slot] = definition;
    }
}

void Figures::free_slot(std::uint32_t slot) {
    WEIR_ASSERT(slot < slots_used_);
    if (slot != 0) {
        WEIR_ASSERT(owners_[slot] != 0);
        free_slots_.push_back(slot);
        owners_[slot] = 0;
    }
}

std::size_t Figures::slots_in_use() const {
    WEIR_ASSERT(free_slots_.size() < slots_used_);
    return slots_used_ - 1 - free_slots_.size();
}

Figures::Sums Figures::sum(std::uint32_t slot) const {
    WEIR_ASSERT(slot <= options_.max_statistics);
    Sums sums;
    threads_.for_each([&](const ThreadContext& thread) { sums.add(thread.figures[slot]); });
    if (slot < bases_.size()) {
        sums.subtract(bases_[slot]);
    }
    return sums;
}

// --- gauges --------------------------------------------------------------------------------------

/// Adds one instance to the gauges of its definition.
void Figures::gauge(std::uint32_t id, const CompiledDefinition& definition, std::int64_t now,
                    Gauges& gauges) {
    double pass = 1;
    double ratio = 0;
    double offered = 0;
    Gauges counted;
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        const CompiledLimit* limit = definition.find(record.identity(), 0);
        if (limit == nullptr || definition.mode == Mode::off) {
            continue;
        }
        const Bucket bucket{record, store_.view_of(record), in_force(*limit, record)};
        const Reading reading = reading_of(bucket, now);
        pass *= 1 - chance_of(bucket, *limit, reading, now);
        ratio = std::max(ratio, fullness(bucket, *limit, reading));
        if (is_offered(record, now)) {
            offered = std::max(offered, own_offered_rate(record, now) / typical_of(record));
        }
        if (limit->parameters.only_counts()) {
            const CountedHere here = counted_here(record, limit->parameters, reading);
            const auto index = static_cast<std::size_t>(limit - definition.limits.data());
            WEIR_ASSERT(index < counted.counts.size());
            counted.counts[index].add(here);
        }
    }
    if (definition.overflow && offered < kNothing && !(ratio > 0)) {
        return;  // an overflow instance that has not been used yet
    }
    for (std::size_t i = 0; i < definition.limits.size(); ++i) {
        gauges.counts[i].add(counted.counts[i]);
    }
    gauges.add(1 - pass, ratio, offered);
}

/// The level over low of an instance with one limit to which nothing is offered and of which
/// nothing is refused; nothing for all others. Nearly all of many instances are like this. The
/// level is the line of the record (record.h): the rest of what gauge() reads comes to nothing
/// here.
std::optional<double> Figures::ratio_at_rest(const LimitRecord& head,
                                             const CompiledDefinition& definition,
                                             std::int64_t now) {
    const bool plain = definition.limits.size() == 1 && head.next() == 0 && !definition.overflow &&
                       definition.mode != Mode::off && head.view.load(kRelaxed) == 0 &&
                       (head.control.load(kRelaxed) & (kIsolated | kShedding | kLocked)) == 0;
    if (!plain || head.identity() != definition.limits.front().identity) {
        return std::nullopt;
    }
    const CompiledLimit& limit = definition.limits.front();
    if (limit.parameters.only_counts() || limit.parameters.zero() || is_offered(head, now)) {
        return std::nullopt;
    }
    const std::int64_t age = std::max<std::int64_t>(0, now - head.anchor.load(kRelaxed));
    const double level = std::max(
        0.0, head.level.load(kRelaxed) - limit.parameters.rate * static_cast<double>(age) * 1e-9);
    const bool refuses =
        level + std::min(typical_of(head), limit.parameters.low) > limit.parameters.low;
    return refuses ? std::nullopt : std::optional(level * limit.inverse_low);
}

/// Adds the records from `from` to `to` to the gauges of their definitions' slots.
void Figures::gauge_records(std::uint32_t from, std::uint32_t to, Instant now,
                            std::vector<Gauges>& gauges) {
    const std::int64_t at = nanoseconds(now);
    for (std::uint32_t id = from; id <= to; ++id) {
        if (!store_.live_head(id)) {
            continue;
        }
        if (const CompiledDefinition* definition = definitions_.of(store_.record(id))) {
            WEIR_ASSERT(definition->statistics < gauges.size());
            Gauges& sums = gauges[definition->statistics];
            if (const auto ratio = ratio_at_rest(store_.record(id), *definition, at)) {
                sums.add(0, *ratio, 0);
            } else {
                gauge(id, *definition, at, sums);
            }
        }
    }
    gauged_ += to >= from ? to - from + 1 : 0;
}

/// Adds some instances of the definition to its gauges, in the order of its ring. Returns how many
/// instances were left out.
std::uint32_t Figures::gauge_members(std::uint32_t definition, Instant now, Gauges& gauges) {
    const CompiledDefinition* const compiled = definitions_.get(definition);
    WEIR_ASSERT(compiled != nullptr);
    const std::lock_guard held(store_.lock);
    const Members& members = instances_.members(definition);
    const std::uint32_t seen = std::min(members.live, kMostInstances);
    std::uint32_t id = members.hand;
    for (std::uint32_t i = 0; i < seen; ++i) {
        gauge(id, *compiled, nanoseconds(now), gauges);
        id = store_.info(id).next;
    }
    return members.live - seen;
}

/// The gauges of the last complete round are shown until this round is complete.
void Figures::survey(Instant now) {
    const std::uint32_t end = store_.high_water();
    if (end <= kGaugedAtOnce) {
        surveyed_.clear();
        survey_hand_ = 0;
        return;
    }
    if (survey_hand_ == 0) {
        surveying_.assign(slots_used_, {});
    }
    const std::uint32_t part = std::min(kGaugedAtOnce, end / kCallsEachRound + 1);
    const std::uint32_t to = std::min(end, survey_hand_ + part);
    WEIR_ASSERT(survey_hand_ < to);
    gauge_records(survey_hand_ + 1, to, now, surveying_);
    survey_hand_ = to;
    if (to == end) {
        surveyed_.swap(surveying_);
        survey_hand_ = 0;
    }
}

// --- statistics ----------------------------------------------------------------------------------

DefinitionStatistics Figures::to_statistics(std::uint32_t slot, std::string_view name,
                                            const CompiledDefinition* definition,
                                            const Gauges& gauges) const {
    DefinitionStatistics statistics;
    const Sums sums = sum(slot);
    statistics.quota = name;
    statistics.offered = sums.offered;
    statistics.admitted = sums.admitted;
    statistics.refused = sums.refused;
    statistics.shadow_refused = sums.shadow_refused;
    statistics.refunded = sums.refunded;
    statistics.overflowed = sums.overflowed;
    statistics.waited = sums.waited;
    if (definition != nullptr) {
        statistics.mode = definition->mode;
        statistics.limits = definition->source.limits;
    }
    gauges.fill(statistics);
    return statistics;
}

std::optional<DefinitionStatistics> Figures::statistics_of(std::string_view definition,
                                                           Instant now) {
    const std::uint32_t index = definitions_.index_of(std::string(definition));
    if (index == 0) {
        return std::nullopt;
    }
    const CompiledDefinition* const compiled = definitions_.get(index);
    WEIR_ASSERT(compiled != nullptr);
    Gauges gauges;
    std::uint32_t beyond = gauge_members(index, now, gauges);
    const std::uint32_t overflow = instances_.members(index).overflow_definition;
    if (overflow != 0) {
        beyond += gauge_members(overflow, now, gauges);
    }
    DefinitionStatistics statistics =
        to_statistics(compiled->statistics, compiled->name(), compiled, gauges);
    if (compiled->statistics == 0) {  // a shared slot says nothing of this definition
        statistics.offered = statistics.admitted = statistics.refused = 0;
        statistics.shadow_refused = statistics.refunded = 0;
        statistics.overflowed = 0;
        statistics.waited = 0;
    }
    statistics.live_instances += beyond;
    return statistics;
}

void Figures::for_each_statistics(Instant now,
                                  const std::function<void(const DefinitionStatistics&)>& visit) {
    std::vector<Gauges> all;
    if (store_.high_water() <= kGaugedAtOnce) {
        all.resize(slots_used_);
        gauge_records(1, store_.high_water(), now, all);
    }
    const std::vector<Gauges>& gauges = all.empty() ? surveyed_ : all;
    const auto report = [&](std::uint32_t slot, std::string_view name,
                            const CompiledDefinition* definition) {
        visit(
            to_statistics(slot, name, definition, slot < gauges.size() ? gauges[slot] : Gauges{}));
    };
    for (std::uint32_t slot = 1; slot < owners_.size(); ++slot) {
        if (owners_[slot] != 0) {
            const CompiledDefinition* const definition = definitions_.get(owners_[slot]);
            WEIR_ASSERT(definition != nullptr && definition->statistics == slot);
            report(slot, definition->name(), definition);
        }
    }
    if (definitions_.size() > slots_in_use()) {
        report(0, "__other__", nullptr);
    }
}

/// Reads the bucket. A window that has ended counts nothing more.
Reading Figures::reading_of(const Bucket& bucket, std::int64_t now) const {
    if (!bucket.limit.parameters.window || windows_.is_open(bucket.record, bucket.limit, now)) {
        return look_at(bucket, now);
    }
    return {};
}

LimitStatus Figures::status_of(std::uint32_t id, const CompiledLimit& limit, std::int64_t now) {
    LimitRecord& record = store_.record(id);
    const Bucket bucket{record, store_.view_of(record), in_force(limit, record)};
    const Reading reading = reading_of(bucket, now);
    LimitStatus status;
    status.parameters = limit.parameters;
    status.level = std::max(0.0, reading.level);
    if (limit.parameters.only_counts()) {
        WEIR_ASSERT(limit.parameters.low == limit.parameters.high);
        status.counted = counted_here(record, limit.parameters, reading);
    }
    if (limit.parameters.window && windows_.is_open(record, limit, now)) {
        status.window_end = window_end(record);
        status.window_left = windows_.left(record, now);
    }
    status.offered_rate = own_offered_rate(record, now);
    status.has_view = bucket.view != nullptr && bucket.view->installed.load(kRelaxed);
    status.fleet_offered_rate =
        status.has_view ? bucket.view->offered_rate.load(kRelaxed) : status.offered_rate;
    status.discard_probability = chance_of(bucket, limit, reading, now);
    const double refused = status.discard_probability;
    status.water_line = refused > 0 ? fair_.line_of(id, 1 - refused, now) : 0;
    status.isolated = is_isolated(record);
    status.shedding = (record.control.load(kRelaxed) & kShedding) != 0;
    return status;
}

std::vector<LimitStatus> Figures::inspect(std::string_view quota, Instant now) {
    std::vector<LimitStatus> result;
    const auto entry = store_.names.find(definitions_.hash(quota));
    if (!entry) {
        return result;
    }
    const std::uint32_t head = Instances::leaf_of(*entry).instance;
    WEIR_ASSERT(head != 0 && head <= store_.high_water());
    const CompiledDefinition* definition = definitions_.of(store_.record(head));
    for (std::uint32_t id = head; id != 0 && definition != nullptr; id = store_.record(id).next()) {
        const std::uint8_t identity = store_.record(id).identity();
        if (const CompiledLimit* limit = definition->find(identity, 0)) {
            result.push_back(status_of(id, *limit, nanoseconds(now)));
            const auto index = static_cast<std::size_t>(limit - definition->limits.data());
            WEIR_ASSERT(index < definition->source.limits.size());
            result.back().limit = definition->source.limits[index];
        }
    }
    return result;
}

}  // namespace weir::limiter
