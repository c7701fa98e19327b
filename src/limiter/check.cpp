#include <algorithm>
#include <span>

#include "base/assert.h"
#include "base/hash.h"
#include "limiter/admission.h"
#include "limiter/levels.h"
#include "limiter/lots.h"

// The whole decision; see admission.h.

namespace weir::limiter {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::size_t kNone = ~std::size_t{0};
/// A hard edge that two threads raced for is judged again; the loser is refused.
constexpr Duration kZeroRetry = std::chrono::seconds(60);
/// Refused while isolated: that ends by itself after the hold time, ten seconds.
constexpr Duration kIsolatedRetry = std::chrono::seconds(5);
/// The same in every sidecar, for ever: "weir key of shre".
constexpr HashKey kShareKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                             std::byte{' '}, std::byte{'k'}, std::byte{'e'}, std::byte{'y'},
                             std::byte{' '}, std::byte{'o'}, std::byte{'f'}, std::byte{' '},
                             std::byte{'s'}, std::byte{'h'}, std::byte{'r'}, std::byte{'e'}}};

/// A bound on waiting times, so that they fit a Duration: a year.
Duration bounded_seconds(double seconds) {
    constexpr double kYear = 365.0 * 86400;
    return from_seconds(std::clamp(seconds, 0.0, kYear));
}

bool hard_edge_now(const Level& level) {
    return level.limit().parameters.edge() &&
           !(level.bucket.view != nullptr && level.bucket.view->installed.load(kRelaxed) &&
             (level.record().control.load(kRelaxed) & kShedding) != 0);
}

/// For each level the product of the other enforcing levels' (1 - p), and all of them in `pass`.
/// A shadow level also counts the other limits of its own quota: together they are its decision.
void combine(Levels& levels) {
    if (!levels.any_chance) {
        return;
    }
    for (Level& level : levels.level) {
        for (const Level& other : levels.level) {
            const bool counts = other.enforce || (!level.enforce && other.head == level.head);
            if (&other != &level && counts) {
                level.others *= 1 - other.p;
            }
        }
        if (level.enforce) {
            levels.pass *= 1 - level.p;
        }
    }
}

std::size_t largest_p(const Levels& levels) {
    std::size_t best = kNone;
    for (std::size_t i = 0; levels.any_chance && i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        if (level.enforce && level.p > 0 && (best == kNone || level.p > levels.level[best].p)) {
            best = i;
        }
    }
    return best;
}

/// The level with the smallest share of low left.
std::size_t tightest(const Levels& levels) {
    std::size_t best = kNone;
    double fullest = -1;
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        const double fullness = level.judged() * level.limit().inverse_low;
        if (level.enforce && fullness > fullest) {
            best = i;
            fullest = fullness;
        }
    }
    return best;
}

void describe(const Level& level, Decision& decision) {
    const LimitParameters& limit = level.limit().parameters;
    decision.unit = level.limit().unit;
    decision.amount = level.limit().amount;
    decision.period = level.limit().period;
    decision.instance = level.head;
    decision.hide_headers = level.definition->source.hide_headers;
    const double judged = level.judged();
    if (limit.zero()) {
        decision.retry_after = kZeroRetry;
        return;
    }
    // Whole units, by a conversion: cheaper than floor(), and no low reaches 2^63.
    decision.remaining = static_cast<double>(
        static_cast<std::int64_t>(std::max(0.0, limit.low - judged + kLevelSlack)));
    decision.reset = bounded_seconds((judged - limit.low) / limit.rate);
    decision.retry_after = std::max<Duration>(std::chrono::seconds(1), decision.reset);
}

/// The lot of the first quota of the chain that enforces anything.
std::atomic<std::uint32_t>* lot_of(Levels& levels, InstanceStore& store) {
    for (const Level& level : levels.level) {
        if (level.enforce) {
            return &store.record(level.head).lot;
        }
    }
    return nullptr;
}

/// A quota's weight for its figures: that of its first limit's unit.
double figure_weight(const CompiledDefinition& definition, const Levels& levels,
                     const Weights& weights) {
    return weight_of(figure_unit(definition), weights, std::max(0.0, levels.response_bytes));
}

}  // namespace

/// The weights of an unusual request, each within bounds.
[[gnu::noinline, gnu::cold]] Weights Admission::clamp(ThreadContext& thread,
                                                      const Weights& weights) const {
    const auto clamp_one = [&](double weight) {
        if (weight >= 0 && weight <= max_weight_) {
            return weight;
        }
        thread.clamped_weights.add(1);
        return weight < 0 ? 0 : max_weight_;  // not a number: the heaviest
    };
    return {clamp_one(weights.requests), clamp_one(weights.request_bytes), clamp_one(weights.cost)};
}

void Admission::collect_instance(std::uint32_t head, const Weights& weights, std::int64_t now,
                                 Levels& levels) {
    const CompiledDefinition* definition = definitions_.of(store_.record(head));
    if (definition == nullptr || levels.quota.full()) {
        return;
    }
    if (definition->mode == Mode::off) {
        levels.quota.emplace(definition, head, false, false);
        return;
    }
    const bool enforces = enforces_key(*definition, levels);
    levels.quota.emplace(definition, head, !enforces, false);
    levels.any_shadow = levels.any_shadow || !enforces;
    std::size_t hint = 0;
    for (std::uint32_t id = head; id != 0 && !levels.level.full();) {
        LimitRecord& record = store_.record(id);
        const std::uint32_t link = record.link.load(std::memory_order_acquire);
        const CompiledLimit* limit = definition->find(static_cast<std::uint8_t>(link), hint++);
        if (limit != nullptr) {
            if (limit->unit == Unit::response_bytes && levels.response_bytes < 0) {
                levels.response_bytes = typical_of(record);
            }
            bool refuses = false;
            if (limit->special_when_isolated) [[unlikely]] {
                refuses = refuses_isolated(*limit, record);
                limit = &in_force(*limit, record);
            }
            // Filled in place: a copy of what has just been stored in halves is slow to load.
            Level& level =
                levels.level.emplace(Bucket{record, store_.view_of(record), *limit}, Reading{},
                                     weight_of(limit->unit, weights, levels.response_bytes), 0.0,
                                     definition, id, head, 1.0, enforces);
            level.reading = read_bucket(level.bucket, now);
            level.p = discard_probability(level.bucket, level.reading, level.weight, now);
            if (refuses) [[unlikely]] {
                level.p = 1;
            }
            levels.any_chance = levels.any_chance || level.p > 0;
        }
        id = link >> 8;
    }
}

void Admission::collect(ThreadContext& thread, LeafId leaf, const Weights& weights,
                        std::int64_t now, Levels& levels) {
    std::uint32_t head = leaf.instance;
    for (std::uint32_t depth = 1; head != 0 && !levels.quota.full(); ++depth) {
        const std::uint32_t parent =
            depth == leaf.overflow_depth ? leaf.resume : store_.record(head).owner.load(kRelaxed);
        __builtin_prefetch(&store_.record(parent), 1, 3);
        const std::size_t before = levels.quota.size();
        collect_instance(head, weights, now, levels);
        if (levels.quota.size() == before) {
            return;  // gone
        }
        head = parent;
    }
    if (fleet_.is_listening()) {
        for (Level& level : levels.level) {
            if (level.limit().fleet) {
                FleetPort::note_active(thread, level.id, level.record());
            }
        }
    }
}

/// Charges what admitted; false when a hard edge was reached by another thread meanwhile.
bool Admission::charge_levels(Levels& levels, CheckMode mode, std::int64_t now,
                              std::size_t& failed) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        Level& level = levels.level[i];
        if (level.shadow_refused) {
            continue;
        }
        if (charge_and_note(level.bucket, level.reading, level.weight, level.weight * level.others,
                            now)) {
            level.charged = true;
            level.noted = true;
            continue;
        }
        const bool judge =
            level.enforce && mode != CheckMode::charge_without_judging && hard_edge_now(level);
        if (limiter::charge(level.bucket, level.reading, level.weight, judge, now)) {
            level.charged = true;
            continue;
        }
        failed = i;
        level.p = 1;
        for (Level& done : std::span(levels.level.begin(), i)) {
            if (done.charged) {
                uncharge(done.bucket, done.weight, now);
                done.charged = false;
            }
        }
        return false;
    }
    return true;
}

/// Whether the quota refuses for this request's key; stable from request to request and from
/// sidecar to sidecar, and a larger share only adds keys.
bool Admission::enforces_key(const CompiledDefinition& definition, const Levels& levels) const {
    if (definition.mode != Mode::enforce || definition.enforced_below == kAllKeys) [[likely]] {
        return definition.mode == Mode::enforce;
    }
    const std::string& field = definition.source.options->enforced_by;
    std::string_view key;
    if (!field.empty() && levels.fields != nullptr) {
        key = levels.fields->value(field);
    }
    if (key.empty()) {
        key = store_.name(levels.leaf);
    }
    return keyed_hash(key, kShareKey) < definition.enforced_below;
}

/// A shadow quota decides by itself, by the product of its limits; what it refuses it does not
/// charge, or its bucket would tell nonsense.
void Admission::settle_shadow(ThreadContext& thread, Levels& levels, Decision& decision) {
    if (!levels.any_shadow) {
        return;
    }
    for (Visited& quota : levels.quota) {
        if (!quota.shadows) {
            continue;
        }
        double pass = 1;
        for (const Level& level : levels.level) {
            pass *= level.head == quota.head ? 1 - level.p : 1;
        }
        if (!draw_refusal(store_.record(quota.head).lot, 1 - pass, thread.random)) {
            continue;
        }
        quota.shadow_refused = true;
        decision.shadow_refused = true;
        for (Level& level : levels.level) {
            if (level.head == quota.head) {
                level.record().control.fetch_or(
                    level.limit().parameters.edge() && level.p >= 1 ? kShedding : 0, kRelaxed);
                level.shadow_refused = true;
            }
        }
    }
}

void Admission::report_offered(const Levels& levels, bool admitted, std::int64_t now) {
    const bool listening = fleet_.is_listening();
    for (const Level& level : levels.level) {
        const double offered = level.weight * level.others;
        if (!level.noted) {
            note_offered(level.record(), offered, now);
        }
        if ((listening && level.limit().fleet) || level.bucket.view != nullptr) {
            note_pending(level.bucket, offered, admitted && level.charged ? level.weight : 0, now);
        }
    }
}

void Admission::count_figures(ThreadContext& thread, const Levels& levels, const Decision& decision,
                              std::size_t named) {
    const std::uint32_t refusing = named == kNone ? 0 : levels.level[named].head;
    for (const Visited& quota : levels.quota) {
        WEIR_ASSERT(quota.definition->statistics < thread.figures.size());
        DefinitionFigures& figures = thread.figures[quota.definition->statistics];
        const double weight = figure_weight(*quota.definition, levels, decision.charge.weights);
        figures.offered.add(weight);
        if (decision.admitted) {
            figures.admitted.add(weight);
        } else if (quota.head == refusing) {
            figures.refused.add(weight);
        }
        if (quota.shadow_refused) {
            figures.shadow_refused.add(weight);
        }
        if (quota.definition->overflow) {
            figures.overflowed.add(1);
            thread.overflowed.add(1);
        }
    }
}

/// What a refused request is told: about the level that is named, the one with the largest p.
void Admission::tell_refused(const Levels& levels, std::size_t named, Decision& decision) const {
    WEIR_ASSERT(named < levels.level.size());
    const Level& level = levels.level[named];
    describe(level, decision);
    decision.quota = store_.name(level.head);
    decision.reason = level.limit().parameters.zero() ? Reason::zero : Reason::limit;
    if (refuses_isolated(level.limit(), level.record())) {
        decision.reason = Reason::isolated;
        decision.retry_after = kIsolatedRetry;
    }
    decision.discard_probability = std::max(decision.discard_probability, level.p);
    if (level.limit().parameters.edge()) {
        level.record().control.fetch_or(kShedding, kRelaxed);
    }
}

/// What an admitted request is told: about the level nearest to refusing, and what was charged.
void Admission::tell_admitted(const Levels& levels, LeafId leaf, Decision& decision) const {
    if (const std::size_t shown = tightest(levels); shown != kNone) {
        describe(levels.level[shown], decision);
    }
    decision.charge.leaf = leaf;
    decision.charge.version = definitions_.version();
    decision.charge.response_bytes = static_cast<float>(std::max(0.0, levels.response_bytes));
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        decision.charge.charged |= levels.level[i].charged ? std::uint32_t{1} << i : 0;
    }
}

Decision Admission::check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant when,
                          CheckMode mode, const RequestFields* fields) {
    Decision decision;
    const auto usual = [&](double weight) { return weight >= 0 && weight <= max_weight_; };
    if (usual(weights.requests) && usual(weights.request_bytes) && usual(weights.cost)) [[likely]] {
        decision.charge.weights = weights;
    } else {
        decision.charge.weights = clamp(thread, weights);
    }
    if (!leaf) {
        decision.reason = Reason::no_quota;
        return decision;
    }
    const std::int64_t now = nanoseconds(when);
    if (mode == CheckMode::charge && leaf.overflow_depth == 0 &&
        check_quickly(thread, leaf, now, decision)) {
        return decision;
    }
    Levels levels;
    levels.leaf = leaf.instance;
    levels.fields = fields;
    collect(thread, leaf, decision.charge.weights, now, levels);
    combine(levels);
    decision.discard_probability = 1 - levels.pass;
    std::size_t named = largest_p(levels);
    if (mode != CheckMode::charge_without_judging && named != kNone) {
        std::atomic<std::uint32_t>* lot = lot_of(levels, store_);
        WEIR_ASSERT(lot != nullptr);  // the named level enforces
        decision.admitted = !draw_refusal(*lot, decision.discard_probability, thread.random);
    }
    settle_shadow(thread, levels, decision);
    if (decision.admitted && mode != CheckMode::peek) {
        decision.admitted = charge_levels(levels, mode, now, named);
    }
    if (!decision.admitted || mode != CheckMode::peek) {
        report_offered(levels, decision.admitted, now);
        count_figures(thread, levels, decision, decision.admitted ? kNone : named);
    }
    if (decision.admitted) {
        tell_admitted(levels, leaf, decision);
    } else {
        tell_refused(levels, named, decision);
    }
    return decision;
}

}  // namespace weir::limiter
