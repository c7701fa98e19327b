#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "base/relaxed.h"
#include "limiter/admission.h"
#include "limiter/levels.h"
#include "limiter/lots.h"

// The whole decision; see admission.h. outcome.cpp counts and describes its result.

namespace weir::limiter {

namespace {

/// The key of the hash by which partly enforced quotas choose keys. It must be the same in every
/// sidecar and every version: "weir key of shre".
constexpr HashKey kShareKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                             std::byte{' '}, std::byte{'k'}, std::byte{'e'}, std::byte{'y'},
                             std::byte{' '}, std::byte{'o'}, std::byte{'f'}, std::byte{' '},
                             std::byte{'s'}, std::byte{'h'}, std::byte{'r'}, std::byte{'e'}}};

bool hard_edge_now(const Level& level) {
    return level.limit().parameters.edge() && !sheds(level.bucket);
}

/// Computes for each level the product of (1 - p) of the other enforcing levels, and in `pass` the
/// product of all enforcing levels. For a level in shadow mode the other limits of its own quota
/// count as well, because together they make that quota's decision.
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
    std::size_t best = kNoLevel;
    for (std::size_t i = 0; levels.any_chance && i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        if (level.enforce && level.p > 0 && (best == kNoLevel || level.p > levels.level[best].p)) {
            best = i;
        }
    }
    return best;
}

/// The lot of the first quota that enforces a limit: of several chains that of the first one which
/// has such a quota, so that the clients that the first list tells apart are refused evenly. A
/// quota that sheds fairly has a chance of its own for each child, so each child has a lot of its
/// own there, too.
std::atomic<std::uint32_t>* find_lot(Levels& levels, InstanceStore& store) {
    for (const Level& level : levels.level) {
        if (level.enforce) {
            const std::uint32_t child =
                level.child.head != 0 ? level.child.head : level.branch.head;
            const std::uint32_t whose = child != 0 ? child : level.head;
            return &store.record(whose).lot;
        }
    }
    return nullptr;
}

}  // namespace

/// Returns the weights of a request, each brought within its bounds. Few requests need this.
[[gnu::noinline, gnu::cold]] Weights Admission::clamp(ThreadContext& thread,
                                                      const Weights& weights) const {
    const auto clamp_one = [&](double weight) {
        if (weight >= 0 && weight <= max_weight_) {
            return weight;
        }
        thread.clamped_weights.add(1);
        return weight < 0 ? 0 : max_weight_;  // a NaN counts as the largest weight
    };
    return {clamp_one(weights.requests), clamp_one(weights.request_bytes), clamp_one(weights.cost)};
}

/// Divides what the last quota of `levels` refuses of a branch, the quota below it, among the
/// branch's own children, if the branch is fair and has a limit, and so on downwards. `p` is the
/// chance that a request of the branch is refused; the result is the chance for this one.
double Admission::divide_below(Levels& levels, std::uint32_t branch, double p,
                               std::int64_t now) const {
    const std::size_t first = levels.quotas_before;
    for (std::size_t at = levels.quota.size() - 1; at > first && p > 0 && p < 1; --at) {
        const Visited& visited = levels.quota[at - 1];
        Level* const own =
            std::find_if(levels.level.begin(), levels.level.end(), [&](const Level& one) {
                return one.head == branch && !one.limit().parameters.only_counts();
            });
        if (visited.head != branch || own == levels.level.end() || !own->enforce) {
            break;
        }
        const Visited* const child = at - 1 > first ? &levels.quota[at - 2] : nullptr;
        if (!own->definition->is_fair(child == nullptr ? nullptr : child->definition)) {
            break;
        }
        own->branch = {own->id, child == nullptr ? branch : child->head,
                       child == nullptr ? 1 : child->definition->source.options->share};
        p = fair_.refusal(own->branch, own->weight, p, now);
        branch = child == nullptr ? 0 : child->head;
    }
    WEIR_ASSERT(p >= 0 && p <= 1);
    return p;
}

/// If the limit's quota sheds fairly, its chance to refuse becomes the one that it has for requests
/// of this child. `below` is the instance below the quota in the chain; 0 = there is none, and the
/// request counts as one of the quota's own, which are like those of a child.
[[gnu::noinline]] void Admission::shed_fairly(Levels& levels, Level& level, std::uint32_t below,
                                              std::int64_t now) const {
    const CompiledDefinition* child =
        below == 0 ? level.definition : definitions_.of(store_.record(below));
    if (child == nullptr || !level.definition->is_fair(below == 0 ? nullptr : child)) {
        return;
    }
    level.child = {level.id, below == 0 ? level.head : below,
                   below == 0 ? 1 : child->source.options->share};
    const double on_the_whole = level.p;
    level.p = fair_.refusal(level.child, level.weight, level.p, now);
    level.p = divide_below(levels, below, level.p, now);
    if (on_the_whole < 1) {
        level.above_share = level.p > 0;
        level.favour = (1 - level.p) / (1 - on_the_whole);
    }
}

void Admission::collect_instance(std::uint32_t head, std::uint32_t below, const Weights& weights,
                                 std::int64_t now, Levels& levels) {
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
    for (std::uint32_t id = head; id != 0 && levels.level.size() < levels.most_levels;) {
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
            // Made in place, because a copy would have to load what has just been stored in halves,
            // which is slow.
            Level& level =
                levels.level.emplace(Bucket{record, store_.view_of(record), *limit}, Reading{},
                                     limit->parameters.in_flight
                                         ? 1.0  // a request is in flight once, whatever it weighs
                                         : weight_of(limit->unit, weights, levels.response_bytes),
                                     0.0, definition, id, head, 1.0, enforces);
            if (limit->parameters.window) [[unlikely]] {
                open_window(level, levels, now);
            }
            level.reading = read_bucket(level.bucket, now);
            level.p = discard_probability(level.bucket, level.reading, level.weight, now);
            if (refuses) [[unlikely]] {
                level.p = 1;
            } else if (level.p > 0 && !limit->parameters.only_counts()) [[unlikely]] {
                shed_fairly(levels, level, below, now);
            }
            levels.any_chance = levels.any_chance || level.p > 0;
        }
        id = link >> 8;
    }
}

/// Makes the window of the level's limit the present one, before the level is read.
[[gnu::noinline]] void Admission::open_window(Level& level, Levels& levels, std::int64_t now) {
    // Where it fails, the earlier window goes on for this request.
    (void)windows_.open(level.head, level.record(), level.limit(), now);
    level.window_left = windows_.left(level.record(), now);
    levels.any_window = true;
}

/// Collects the quota of an instance for its figures, and none of its limits.
void Admission::count_instance(std::uint32_t head, Levels& levels) const {
    if (const CompiledDefinition* definition = definitions_.of(store_.record(head))) {
        levels.quota.emplace(definition, head, false, false, true);
    }
}

/// Collects the quotas of one chain that no chain before has. It goes on above a quota that another
/// chain has, too, because the chains through an overflow instance part again above it.
template <bool kFirst>
inline void Admission::collect(const LeafId& leaf, const Weights& weights, std::int64_t now,
                               Levels& levels) {
    levels.leaf = leaf.instance;
    std::uint32_t head = leaf.instance;
    std::uint32_t below = 0;
    for (std::uint32_t depth = 1; head != 0 && depth <= kMaxChainDepth; ++depth) {
        const std::uint32_t parent =
            depth == leaf.overflow_depth ? leaf.resume : store_.record(head).owner.load(kRelaxed);
        __builtin_prefetch(&store_.record(parent), 1, 3);
        const bool counted = depth <= leaf.unjudged_depth;
        if (kFirst || !levels.has_already(head, counted)) {
            const std::size_t before = levels.quota.size();
            if (counted) {
                count_instance(head, levels);
            } else {
                collect_instance(head, below, weights, now, levels);
            }
            if (levels.quota.size() == before) {
                return;  // the instance has no definition any more
            }
        }
        below = std::exchange(head, parent);
    }
}

void Admission::collect_chain(const LeafId& leaf, const Weights& weights, std::int64_t now,
                              Levels& levels) {
    collect<true>(leaf, weights, now, levels);
}

/// Collects the quotas of the chains after the first one.
[[gnu::noinline]] void Admission::collect_others(std::span<const LeafId> leaves,
                                                 const Weights& weights, std::int64_t now,
                                                 Levels& levels) {
    for (const LeafId& leaf : leaves) {
        WEIR_ASSERT(leaf);
        levels.begin_chain();
        collect<false>(leaf, weights, now, levels);
    }
}

/// Tells the engine which limits are in use.
void Admission::note_active(ThreadContext& thread, const Levels& levels) {
    if (!fleet_.is_listening()) {
        return;
    }
    for (const Level& level : levels.level) {
        if (level.limit().fleet) {
            FleetPort::note_active(thread, level.id, level.record());
        }
    }
}

/// Charges the levels that admitted the request. False when another thread has filled a hard edge
/// meanwhile.
bool Admission::charge_levels(Levels& levels, CheckMode mode, std::int64_t now,
                              std::size_t& failed) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        Level& level = levels.level[i];
        if (level.shadow_refused) {
            continue;
        }
        if (charge_and_note(level.bucket, level.reading, level.weight, level.offered(), now)) {
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

/// Whether the quota refuses for this request's key. The result for a key is always the same, at
/// all sidecars; a larger share only adds keys.
bool Admission::enforces_key(const CompiledDefinition& definition, const Levels& levels) const {
    if (definition.mode != Mode::enforce || definition.terms->enforced_below == kAllKeys)
        [[likely]] {
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
    return keyed_hash(key, kShareKey) < definition.terms->enforced_below;
}

/// Decides for the quotas in shadow mode, each by the product of its own limits. A request that
/// such a quota would refuse is not charged to it; otherwise its bucket would not show what it
/// would do.
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
                    level.limit().parameters.can_shed() && level.p >= 1 ? kShedding : 0, kRelaxed);
                level.shadow_refused = true;
            }
        }
    }
}

/// The weights of a request, each within its bounds.
inline Weights Admission::bounded(ThreadContext& thread, const Weights& weights) const {
    const auto usual = [&](double weight) { return weight >= 0 && weight <= max_weight_; };
    if (usual(weights.requests) && usual(weights.request_bytes) && usual(weights.cost)) [[likely]] {
        return weights;
    }
    return clamp(thread, weights);
}

namespace {

/// The lowest enforcing level of a quota for which other requests wait; kNoLevel if there is none.
std::size_t first_queue(const Levels& levels, InstanceStore& store) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        const bool waits = (store.record(level.head).control.load(kRelaxed) & kWaiting) != 0;
        if (level.enforce && waits && level.definition->source.options->wait.longest) {
            return i;
        }
    }
    return kNoLevel;
}

}  // namespace

Decision Admission::check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant when,
                          CheckMode mode, const RequestFields* fields) {
    Decision decision;
    decision.charge.weights = bounded(thread, weights);
    if (!leaf) {
        decision.reason = Reason::no_quota;
        return decision;
    }
    const std::int64_t now = nanoseconds(when);
    const bool usual_mode = mode == CheckMode::charge || mode == CheckMode::charge_or_wait;
    if (usual_mode && leaf.overflow_depth == 0 && check_quickly(thread, leaf, now, decision)) {
        return decision;
    }
    decide_whole(thread, {&leaf, 1}, now, mode, fields, decision);
    return decision;
}

Decision Admission::check_all(ThreadContext& thread, const Leaves& leaves, const Weights& weights,
                              Instant when, CheckMode mode, const RequestFields* fields) {
    if (leaves.size() <= 1) {
        return check(thread, leaves.empty() ? LeafId() : leaves[0], weights, when, mode, fields);
    }
    Decision decision;
    decision.charge.weights = bounded(thread, weights);
    decide_whole(thread, {leaves.begin(), leaves.end()}, nanoseconds(when), mode, fields, decision);
    return decision;
}

/// The whole decision about a request under the chains of these leaves. It is a function of its
/// own, because its many levels take much stack, which the quick decision does not need.
[[gnu::noinline]] void Admission::decide_whole(ThreadContext& thread,
                                               std::span<const LeafId> leaves, std::int64_t now,
                                               CheckMode mode, const RequestFields* fields,
                                               Decision& decision) {
    WEIR_ASSERT(!leaves.empty() && leaves.size() <= kMaxLeaves);
    decision.charge.admitted_at = now;
    Levels levels;
    levels.fields = fields;
    collect<true>(leaves[0], decision.charge.weights, now, levels);
    if (leaves.size() > 1) [[unlikely]] {
        collect_others(leaves.subspan(1), decision.charge.weights, now, levels);
    }
    note_active(thread, levels);
    combine(levels);
    decision.discard_probability = 1 - levels.pass;
    std::size_t named = largest_p(levels);
    const bool behind_others =
        mode == CheckMode::charge_or_wait || mode == CheckMode::refuse_in_turn;
    const std::size_t queue = behind_others ? first_queue(levels, store_) : kNoLevel;
    if (queue != kNoLevel) [[unlikely]] {
        decision.admitted = false;
        named = decision.discard_probability < 1 ? queue : named;
    } else if (mode != CheckMode::charge_without_judging && named != kNoLevel) {
        std::atomic<std::uint32_t>* lot = find_lot(levels, store_);
        WEIR_ASSERT(lot != nullptr);  // the named level enforces
        decision.admitted = !draw_refusal(*lot, decision.discard_probability, thread.random);
    }
    settle_shadow(thread, levels, decision);
    if (decision.admitted && mode != CheckMode::peek) {
        decision.admitted = charge_levels(levels, mode, now, named);
    }
    // What the levels are offered is what their laws decide about, because the fleet reckons with
    // the share of it that passes. A request that goes behind others is decided when its turn
    // comes.
    if (queue == kNoLevel && (!decision.admitted || mode != CheckMode::peek)) {
        report_offered(levels, decision.admitted, now);
    }
    if (decision.admitted) {
        tell_admitted(levels, leaves, decision);
    } else {
        WEIR_ASSERT(named < levels.level.size());
        tell_refused(levels, named, decision);
        decision.can_wait = can_wait(levels.level[named], decision, mode);
    }
    if (!decision.admitted || mode != CheckMode::peek) {
        count_figures(thread, levels, decision, mode, decision.admitted ? kNoLevel : named);
    }
}

}  // namespace weir::limiter
