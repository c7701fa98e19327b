#include <algorithm>
#include <cstddef>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/admission.h"
#include "limiter/in_flight.h"
#include "limiter/levels.h"

// What follows a decision once it is made: the offered weight is counted for the engine and the
// request for the figures of its quotas, and one limit is described in the answer.

namespace weir::limiter {

namespace {

/// The waiting time that clients are told when the limit is 0.
constexpr Duration kZeroRetry = std::chrono::seconds(60);
/// The waiting time that clients are told while a limit is isolated. Most isolations end sooner
/// than the hold time, when the others are heard again.
constexpr Duration kIsolatedRetry = std::chrono::seconds(5);

/// The time as a Duration, but at most a year, so that it fits.
Duration bounded_seconds(double seconds) {
    constexpr double kYear = 365.0 * 86400;
    return from_seconds(std::clamp(seconds, 0.0, kYear));
}

/// The enforcing level that has the smallest share of its `low` left; kNoLevel if none enforces.
std::size_t tightest(const Levels& levels) {
    std::size_t best = kNoLevel;
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

/// Fills in the fields of the decision that describe one limit.
void describe_level(const Level& level, Decision& decision) {
    const LimitParameters& limit = level.limit().parameters;
    decision.kind = level.limit().kind;
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
    // Clients are told whole units. The conversion is cheaper than floor(), and no `low` reaches
    // 2^63.
    decision.remaining = static_cast<double>(
        static_cast<std::int64_t>(std::max(0.0, limit.low - judged + kLevelSlack)));
    if (limit.window) {
        decision.reset = std::chrono::ceil<std::chrono::seconds>(level.window_left);
    } else if (!limit.in_flight) {
        decision.reset = bounded_seconds((judged - limit.low) / limit.rate);
    }
    decision.retry_after = std::max<Duration>(std::chrono::seconds(1), decision.reset);
}

/// How long until all enforcing limits have room for the request below `low`.
Duration longest_wait(const Levels& levels) {
    double seconds = 0;
    for (const Level& level : levels.level) {
        const LimitParameters& limit = level.limit().parameters;
        // When requests in flight will end, nobody knows.
        const bool full = level.p > 0 || level.judged() > limit.low + kLevelSlack;
        const bool known = !limit.zero() && !(limit.in_flight && full);
        if (level.enforce && !known) {
            return Duration(-1);
        }
        if (level.enforce && limit.window && full) {
            seconds = std::max(seconds, to_seconds(level.window_left));
        } else if (level.enforce && !limit.only_counts()) {
            WEIR_ASSERT(limit.rate > 0);
            seconds = std::max(seconds, (level.judged() - limit.low) / limit.rate);
        }
    }
    return bounded_seconds(seconds);
}

/// The weight with which the request counts in the quota's figures, in the unit of its first limit.
double figure_weight(const CompiledDefinition& definition, const Levels& levels,
                     const Weights& weights) {
    return weight_of(figure_unit(definition), weights, std::max(0.0, levels.response_bytes));
}

/// The share of the request that the limits let through which were collected before this one: those
/// of the quotas below it.
double passed_before(const Levels& levels, const Level& level) {
    double pass = 1;
    for (const Level* one = levels.level.begin(); one != &level; ++one) {
        pass *= one->enforce && one->head != level.head ? 1 - one->p : 1;
    }
    return pass;
}

}  // namespace

/// Counts the weight that was offered to each level, and tells the engine how much of it was
/// admitted. What the other limits refuse does not count as offered to a level.
void Admission::report_offered(const Levels& levels, bool admitted, std::int64_t now) {
    const bool listening = fleet_.is_listening();
    for (const Level& level : levels.level) {
        const double offered = level.offered();
        if (level.child.head != 0) {
            fair_.note(level.child, level.weight * level.others, now);
        } else if (level.branch.head != 0) {
            // What is divided is what the branch is offered, before the quota above refuses of it.
            fair_.note(level.branch, level.weight * passed_before(levels, level), now);
        }
        if (!level.noted) {
            note_offered(level.record(), offered, now);
        }
        if (level.counts_for_engine(listening)) {
            note_pending(level.bucket, offered, admitted && level.charged ? level.weight : 0, now);
        }
        if (listening && level.lacks_room()) [[unlikely]] {
            level.note_lack(level.weight);
        }
    }
}

/// Counts the request in the figures of all its quotas. `named` is the level that refused
/// it, or kNoLevel: a refusal counts only for the quota of that level.
void Admission::count_figures(ThreadContext& thread, const Levels& levels, const Decision& decision,
                              CheckMode mode, std::size_t named) {
    // These have been counted as offered.
    const bool in_turn = mode == CheckMode::charge_in_turn || mode == CheckMode::refuse_in_turn;
    const std::uint32_t refusing = named == kNoLevel ? 0 : levels.level[named].head;
    for (const Visited& quota : levels.quota) {
        WEIR_ASSERT(quota.definition->statistics < thread.figures.size());
        DefinitionFigures& figures = thread.figures[quota.definition->statistics];
        const double weight = figure_weight(*quota.definition, levels, decision.charge.weights);
        if (decision.admitted) {
            figures.admitted.add(weight);
            figures.waited.add(in_turn ? 1 : 0);
        }
        if (in_turn) {
            continue;
        }
        figures.offered.add(weight);
        if (quota.head == refusing && !decision.can_wait) {
            figures.refused.add(weight);
        }
        if (quota.shadow_refused) {
            figures.shadow_refused.add(weight);
        }
        if (quota.definition->overflow && !quota.only_counted) {
            figures.overflowed.add(1);
            thread.overflowed.add(1);
        }
    }
}

/// Describes the limit that refused the request, which is the level `named`, in the decision. If it
/// is a hard edge, it sheds from now on.
void Admission::tell_refused(const Levels& levels, std::size_t named, Decision& decision) const {
    WEIR_ASSERT(named < levels.level.size());
    const Level& level = levels.level[named];
    describe_level(level, decision);
    decision.quota = store_.name(level.head);
    decision.reason = level.limit().parameters.zero() ? Reason::zero : Reason::limit;
    if (level.above_share) {
        decision.reason = Reason::above_share;
    }
    if (refuses_isolated(level.limit(), level.record())) {
        decision.reason = Reason::isolated;
        decision.retry_after = kIsolatedRetry;
    }
    decision.discard_probability = std::max(decision.discard_probability, level.p);
    decision.wait = decision.reason == Reason::limit ? longest_wait(levels) : Duration(-1);
    decision.charge.response_bytes = static_cast<float>(std::max(0.0, levels.response_bytes));
    // Where it has room, and others wait for it, nothing is shed.
    if (level.limit().parameters.can_shed() && level.p > 0) {
        level.record().control.fetch_or(kShedding, kRelaxed);
    }
}

/// Notes in the charge which limits of requests in flight count the request.
void Admission::note_places(const Levels& levels, Charge& charge) const {
    for (const Level& level : levels.level) {
        if (level.limit().parameters.in_flight && level.charged) [[unlikely]] {
            charge.places.weight = charge.units;
            charge.places.add({level.id, count_of(level.record())});
        }
    }
}

/// Describes in the decision about an admitted request the limit that came nearest to refusing it,
/// and what was charged.
void Admission::tell_admitted(const Levels& levels, std::span<const LeafId> leaves,
                              Decision& decision) const {
    if (const std::size_t shown = tightest(levels); shown != kNoLevel) {
        describe_level(levels.level[shown], decision);
    }
    Charge& charge = decision.charge;
    charge.leaf = leaves[0];
    charge.version = definitions_.version();
    charge.response_bytes = static_cast<float>(std::max(0.0, levels.response_bytes));
    note_places(levels, charge);
    if (leaves.size() > 1) {
        charge.charged = charged_of(leaves[0], levels);
        for (std::size_t i = 1; i < leaves.size(); ++i) {
            charge.others[i - 1] = {leaves[i], charged_of(leaves[i], levels)};
        }
        return;
    }
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        charge.charged |= levels.level[i].charged ? std::uint32_t{1} << i : 0;
    }
}

}  // namespace weir::limiter
