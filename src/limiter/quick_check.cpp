#include <array>
#include <cstddef>
#include <span>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/admission.h"

// The fast decision about a usual request: every limit of its chain is enforced and stays at or
// below its low border with this request, and the request is not so heavy that it counts in W. No
// random number is drawn, and nothing is divided. A request that is unusual in any way is left to
// check(), which decides by the same rules. Nothing has been changed then.

namespace weir::limiter {

/// One limit of the chain as this request found it.
struct QuickLevel {
    LimitRecord* record;
    ViewRecord* view;
    const CompiledLimit* limit;
    double weight;
    LevelAndRecent old;
    LevelAndRecent charged;
    std::uint32_t control;
    std::uint32_t id;
    bool moves_mean;  // the request's weight differs from the mean and has not moved it yet
};

/// A quota of the chain, for its figures.
struct QuickQuota {
    const CompiledDefinition* definition;
    double weight;  // of its first limit
};

/// The chain, and its limit that is nearest to refusing. It has pointers to the ends of its arrays
/// and not their sizes, because these stay in registers.
struct QuickChain {
    /// Longer chains are left to check().
    static constexpr std::size_t kMost = 8;

    std::array<QuickLevel, kMost> level;
    std::array<QuickQuota, kMost> quota;
    QuickLevel* level_end;
    QuickQuota* quota_end;
    const CompiledLimit* tightest;
    const CompiledDefinition* definition;
    double judged;
    std::uint32_t head;
    bool any_view;
    bool any_mean;  // some weight moves its limit's running mean
};

namespace {

/// Reads one limit and computes its state after the charge. False if anything is unusual.
[[gnu::always_inline]] inline bool look(QuickLevel& level, std::int64_t now, double& judged) {
    const LimitRecord& record = *level.record;
    const LimitParameters& limit = level.limit->parameters;
    const double weight = level.weight;
    const std::uint32_t control = record.control.load(std::memory_order_acquire);
    const LevelAndRecent old{record.level.load(kRelaxed), record.recent.load(kRelaxed)};
    const std::int64_t age = now - record.anchor.load(kRelaxed);
    double slope = -limit.rate;
    if (level.view != nullptr) [[unlikely]] {
        if (age > kRenewAfterNanoseconds || limit.edge()) {
            return false;
        }
        // Without the line's bend the level is too high at most. Then check() decides, or a request
        // that is lighter than usual is told of too little room.
        slope = level.view->slope.load(kRelaxed);
    }
    const double drift = slope * (static_cast<double>(age > 0 ? age : 0) * 1e-9);
    const double drained = std::max(0.0, old.level + drift);
    judged = drained + weight;
    level.control = control;
    level.old = old;
    level.charged = {(drained > 0 ? old.level : -drift) + weight,
                     offered_more(old.recent, weight, now)};
    level.moves_mean = record.typical.load(kRelaxed) != static_cast<float>(weight);
    if (level.moves_mean && weight > debt(limit, typical_of(record))) [[unlikely]] {
        return false;
    }
    // If the level is at most `low`, the request is not heavier than `low` either, and the level is
    // below `high`.
    return judged <= limit.low && (control & (kLocked | kIsolated | kWaiting)) == 0;
}

/// Charges a limit that another thread has changed meanwhile. False, and nothing is changed, when a
/// hard edge is full now.
[[gnu::noinline, gnu::cold]] bool take_slowly(QuickLevel& level, std::int64_t now) {
    WEIR_ASSERT(!level.limit->parameters.zero());  // quick limits are above 0
    const Bucket bucket{*level.record, level.view, *level.limit};
    const bool judge = level.limit->parameters.edge();
    if (!charge(bucket, look_at(bucket, now), level.weight, judge, now)) {
        return false;
    }
    note_offered(*level.record, level.weight, now);
    level.moves_mean = false;  // charge() has done that
    return true;
}

[[gnu::noinline, gnu::cold]] void put_back(std::span<const QuickLevel> levels, std::int64_t now) {
    for (const QuickLevel& level : levels) {
        uncharge({*level.record, level.view, *level.limit}, level.weight, now);
        note_offered(*level.record, -level.weight, now);
    }
}

/// A limit of the chain that may be the one nearest to refusing.
struct NearLimit {
    double judged;
    const CompiledLimit* limit;
    const CompiledDefinition* definition;
    std::uint32_t head;
};

/// Remembers the limit if it is fuller than `fullest`, the fullest one so far.
[[gnu::always_inline]] inline void note_tightest(QuickChain& chain, double& fullest,
                                                 const NearLimit& candidate) {
    const double fullness = candidate.judged * candidate.limit->inverse_low;
    if (fullness > fullest) {
        fullest = fullness;
        chain.judged = candidate.judged;
        chain.tightest = candidate.limit;
        chain.definition = candidate.definition;
        chain.head = candidate.head;
    }
}

/// Charges all limits, or none if a hard edge was reached by another thread meanwhile.
[[gnu::always_inline]] inline bool take(QuickChain& chain, std::int64_t now) {
    std::atomic_thread_fence(std::memory_order_acquire);
    for (QuickLevel* level = chain.level.data(); level != chain.level_end; ++level) {
        LimitRecord& record = *level->record;
        const bool same = ((record.control.load(kRelaxed) ^ level->control) & kVersionMask) == 0;
        if (same && swap_both(record, level->old, level->charged)) [[likely]] {
            continue;
        }
        if (!take_slowly(*level, now)) {
            put_back(std::span(chain.level.data(), level), now);
            return false;
        }
    }
    return true;
}

/// Describes the limit nearest to refusing in the decision.
[[gnu::always_inline]] inline void describe(const QuickChain& chain, Decision& decision) {
    const CompiledLimit& limit = *chain.tightest;
    decision.instance = chain.head;
    decision.hide_headers = chain.definition->source.hide_headers;
    decision.unit = limit.unit;
    decision.amount = limit.amount;
    decision.period = limit.period;
    decision.remaining = static_cast<double>(
        static_cast<std::int64_t>(limit.parameters.low - chain.judged + kLevelSlack));
    decision.retry_after = std::chrono::seconds(1);
    const auto levels = static_cast<unsigned>(chain.level_end - chain.level.data());
    decision.charge.charged = (1U << levels) - 1;
}

}  // namespace

/// Reads the whole chain; false if anything in it is unusual.
[[gnu::always_inline]] inline bool Admission::look_at_chain(LeafId leaf, const Weights& weights,
                                                            std::int64_t now, QuickChain& chain) {
    const std::array<double, kUnits> weight_of{weights.requests, weights.request_bytes, 0,
                                               weights.cost};
    QuickLevel* level = chain.level.data();
    QuickLevel* const last_level = level + QuickChain::kMost;
    QuickQuota* quota = chain.quota.data();
    double fullest = -1;
    ViewRecord* any_view = nullptr;
    bool any_mean = false;
    for (std::uint32_t head = leaf.instance; head != 0; ++quota) {
        LimitRecord* record = &arrays_.record(head);
        const std::uint32_t parent = record->owner.load(kRelaxed);
        __builtin_prefetch(&arrays_.record(parent), 1, 3);
        const CompiledDefinition* definition = definitions_.of(*record);
        if (definition == nullptr || !definition->quick || level == last_level) {
            return false;
        }
        const CompiledLimit* limit = definition->limits.data();
        const CompiledLimit* const end = limit + definition->limits.size();
        *quota = {definition, weight_of[static_cast<std::size_t>(limit->unit)]};
        for (std::uint32_t id = head;;) {
            const std::uint32_t link = record->link.load(std::memory_order_acquire);
            if (limit->identity != static_cast<std::uint8_t>(link)) {
                return false;
            }
            level->record = record;
            level->view = arrays_.view_of(*record);
            level->limit = limit;
            level->weight = weight_of[static_cast<std::size_t>(limit->unit)];
            level->id = id;
            double judged = 0;
            if (!look(*level, now, judged)) {
                return false;
            }
            any_view = level->view != nullptr ? level->view : any_view;
            any_mean |= level->moves_mean;
            note_tightest(chain, fullest, {judged, limit, definition, head});
            ++level;
            id = link >> 8;
            if (id == 0) {
                break;
            }
            if (++limit == end || level == last_level) {
                return false;
            }
            record = &arrays_.record(id);
        }
        head = parent;
    }
    chain.level_end = level;
    chain.quota_end = quota;
    chain.any_view = any_view != nullptr;
    chain.any_mean = any_mean;
    return true;
}

void Admission::tell_engine(ThreadContext& thread, const QuickChain& chain, std::int64_t now,
                            bool listening) {
    for (const QuickLevel& level : std::span(chain.level.data(), chain.level_end)) {
        const bool listened = listening && level.limit->fleet;
        if (listened) {
            FleetPort::note_active(thread, level.id, *level.record);
        }
        if (listened || level.view != nullptr) {
            note_pending({*level.record, level.view, *level.limit}, level.weight, level.weight,
                         now);
        }
    }
}

bool Admission::check_quickly(ThreadContext& thread, LeafId leaf, std::int64_t now,
                              Decision& decision) {
    QuickChain chain;
    if (!look_at_chain(leaf, decision.charge.weights, now, chain) || !take(chain, now)) {
        return false;
    }
    if (chain.any_mean) {
        for (const QuickLevel& level : std::span(chain.level.data(), chain.level_end)) {
            if (level.moves_mean) {
                note_weight({*level.record, level.view, *level.limit}, level.weight, now);
            }
        }
    }
    const bool listening = fleet_.is_listening();
    if (listening || chain.any_view) {
        tell_engine(thread, chain, now, listening);
    }
    for (const QuickQuota& quota : std::span(chain.quota.data(), chain.quota_end)) {
        DefinitionFigures& figures = thread.figures[quota.definition->statistics];
        figures.offered.add(quota.weight);
        figures.admitted.add(quota.weight);
    }
    describe(chain, decision);
    decision.charge.leaf = leaf;
    decision.charge.version = definitions_.version();
    return true;
}

}  // namespace weir::limiter
