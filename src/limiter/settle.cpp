#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/admission.h"
#include "limiter/in_flight.h"
#include "limiter/levels.h"

// Gives a charge back after the decision, or corrects it when the true weight is known.

namespace weir::limiter {
namespace {

/// Counts more weight of an earlier request for the engine.
void note_more(const Bucket& bucket, double weight, std::int64_t now) {
    if (!bucket.limit.parameters.only_counts()) {
        note_pending(bucket, 0, weight, now);
    }
}

/// Charges the limit for the weight that is missing, or gives back the weight that is too much.
void correct_limit(const Bucket& bucket, double before, double actual, bool last,
                   std::int64_t now) {
    if (actual < before) {
        give_back(bucket, before - actual, now);
    } else if (actual > before) {
        charge_more(bucket, actual - before, actual, now);
        note_more(bucket, actual - before, now);
    }
    if (last) {
        note_weight(bucket, actual, now);
    }
}

}  // namespace

/// Visits the quotas of a chain, as far as they still exist. `visit_quota` is told whether the
/// quota was only counted; then no limit of it is visited. `visit_limit` is told which limit of the
/// chain it is: its number is the same for all who visit this chain with the same definitions.
template <class VisitQuota, class VisitLimit>
void Admission::for_each_of_chain(const LeafId& leaf, VisitQuota visit_quota,
                                  VisitLimit visit_limit) const {
    std::uint32_t head = leaf.instance;
    std::uint32_t index = 0;
    for (std::uint32_t depth = 1; head != 0 && depth <= kMaxChainDepth; ++depth) {
        const CompiledDefinition* definition = definitions_.of(store_.record(head));
        if (definition == nullptr) {
            return;
        }
        const bool counted = depth <= leaf.unjudged_depth;
        visit_quota(head, *definition, counted);
        for (std::uint32_t id = counted ? 0 : head; id != 0 && index < kMaxChainLimits;
             id = store_.record(id).next()) {
            LimitRecord& record = store_.record(id);
            const CompiledLimit* limit = definition->find(record.identity(), 0);
            if (limit == nullptr || definition->mode == Mode::off) {
                continue;
            }
            visit_limit(index++, id, *definition, Bucket{record, store_.view_of(record), *limit});
        }
        if (depth == leaf.overflow_depth) {
            head = leaf.resume;  // no child keeps this ancestor, so it may be gone
            if (!store_.live(head, leaf.resume_generation)) {
                return;
            }
        } else {
            head = store_.record(head).owner.load(kRelaxed);
        }
    }
}

/// Which limits of the chain the request was charged to, as bits of Charge::charged. Those that
/// another chain of the request has, too, are among them.
std::uint32_t Admission::charged_of(const LeafId& leaf, const Levels& levels) const {
    std::uint32_t charged = 0;
    for_each_of_chain(
        leaf, [](std::uint32_t, const CompiledDefinition&, bool) {},
        [&](std::uint32_t index, std::uint32_t id, const CompiledDefinition&, const Bucket&) {
            for (const Level& level : levels.level) {
                charged |= level.id == id && level.charged ? std::uint32_t{1} << index : 0;
            }
        });
    return charged;
}

/// Visits the quotas to which the charge was made, as far as they still exist, and in each quota
/// the limits that were charged. What several chains have is visited once. Limits of requests in
/// flight are left out: only finish() changes what they count.
template <class VisitQuota, class VisitLimit>
void Admission::for_each_charged(const Charge& charge, VisitQuota visit_quota,
                                 VisitLimit visit_limit) {
    if (!charge) {
        return;
    }
    const bool same = charge.version == definitions_.version();
    Fixed<std::uint32_t, kMaxLeaves * kMaxChainDepth> quotas;  // those that were visited
    Fixed<std::uint32_t, kMaxLeaves * kMaxChainLimits> limits;
    const bool several = static_cast<bool>(charge.others[0].leaf);
    const auto is_new = [&](auto& visited, std::uint32_t id) {
        if (!several) {
            return true;
        }
        if (std::find(visited.begin(), visited.end(), id) != visited.end()) {
            return false;
        }
        visited.emplace(id);
        return true;
    };
    const auto visit_chain = [&](const LeafId& leaf, std::uint32_t bits) {
        if (!store_.live(leaf.instance, leaf.generation)) {
            return;
        }
        for_each_of_chain(
            leaf,
            [&](std::uint32_t head, const CompiledDefinition& definition, bool) {
                if (is_new(quotas, head)) {
                    visit_quota(definition);
                }
            },
            [&](std::uint32_t index, std::uint32_t id, const CompiledDefinition& definition,
                const Bucket& bucket) {
                // After an edit of definitions the limits may have another order. Then all enforced
                // ones count as charged.
                const bool charged =
                    same ? (bits >> index & 1) != 0 : definition.mode == Mode::enforce;
                if (charged && !bucket.limit.parameters.in_flight && is_new(limits, id)) {
                    visit_limit(id, bucket);
                }
            });
    };
    visit_chain(charge.leaf, charge.charged);
    if (!several) {
        return;
    }
    for (const ChargedChain& other : charge.others) {
        visit_chain(other.leaf, other.charged);
    }
}

/// The engine may have ceased to look at the limit since the decision.
void Admission::tell_engine(ThreadContext& thread, std::uint32_t id, const Bucket& bucket) {
    if (fleet_.is_listening() && bucket.limit.fleet) {
        FleetPort::note_active(thread, id, bucket.record);
    }
}

/// Whether what was charged still counts: of a limit of windows not when that window has ended, or
/// when an edit may have added the limit since then.
bool Admission::counts_still(const Charge& charge, const Bucket& bucket, std::int64_t now) const {
    return !bucket.limit.parameters.window ||
           (charge.version == definitions_.version() &&
            windows_.is_open(bucket.record, bucket.limit, now) &&
            windows_.began_before(bucket.record, bucket.limit, charge.admitted_at));
}

std::uint32_t Admission::hold_chain(const LeafId& leaf) {
    // An overflow instance always exists; the instances above it may be gone.
    const bool overflow = leaf.overflow_depth > 0;
    const std::uint32_t id = overflow ? leaf.resume : leaf.instance;
    return store_.hold(id, overflow ? leaf.resume_generation : leaf.generation) ? id : 0;
}

Held Admission::hold(const Charge& charge) {
    Held held;
    if (charge) {
        held.instances[0] = hold_chain(charge.leaf);
        for (std::size_t i = 0; i < charge.others.size(); ++i) {
            held.instances[i + 1] = hold_chain(charge.others[i].leaf);
        }
    }
    return held;
}

/// Takes this weight off the limits of requests in flight that count the request.
void Admission::give_places_back(const Places& places, double weight) {
    for (const Places::Place& place : places) {
        LimitRecord& record = store_.record(place.record);
        // An edit may have given the record to another limit, or the limit may have begun anew.
        if (count_of(record) == place.count && place.count != 0) {
            leave_places(record, weight);
        }
    }
}

void Admission::finish(ThreadContext& thread, Charge& charge) {
    if (charge.places.empty()) {
        return;
    }
    store_.epochs.enter(thread.epoch);
    give_places_back(charge.places, charge.places.weight);
    charge.places.clear();
}

void Admission::refund(ThreadContext& thread, const Charge& charge, Instant when) {
    store_.epochs.enter(thread.epoch);
    const std::int64_t now = nanoseconds(when);
    const auto response_bytes = static_cast<double>(charge.response_bytes);
    for_each_charged(
        charge,
        [&](const CompiledDefinition& definition) {
            WEIR_ASSERT(definition.statistics < thread.figures.size());
            const double weight =
                weight_of(figure_unit(definition), charge.weights, response_bytes);
            thread.figures[definition.statistics].refunded.add(weight);
        },
        [&](std::uint32_t id, const Bucket& bucket) {
            if (!counts_still(charge, bucket, now)) {
                return;
            }
            give_back(bucket, weight_of(bucket.limit.unit, charge.weights, response_bytes), now);
            tell_engine(thread, id, bucket);
        });
}

void Admission::give_up(ThreadContext& thread, const Decision& decision) {
    const CompiledDefinition* definition =
        decision.instance == 0 ? nullptr : definitions_.of(store_.record(decision.instance));
    if (definition != nullptr) {
        WEIR_ASSERT(definition->statistics < thread.figures.size());
        const double weight = weight_of(figure_unit(*definition), decision.charge.weights,
                                        static_cast<double>(decision.charge.response_bytes));
        thread.figures[definition->statistics].refused.add(weight);
    }
}

void Admission::return_unused(ThreadContext& thread, Charge& charge, double units, Instant when) {
    const double given = std::clamp(units, 0.0, charge.units);
    if (!(given > 0)) {
        return;
    }
    const double part = given / charge.units;
    Charge unused = charge;
    unused.weights = {charge.weights.requests * part, charge.weights.request_bytes * part,
                      charge.weights.cost * part};
    unused.response_bytes *= static_cast<float>(part);
    refund(thread, unused, when);
    const double places = charge.places.weight * part;
    give_places_back(charge.places, places);
    charge.places.weight -= places;
    charge.units -= given;
    charge.weights.requests -= unused.weights.requests;
    charge.weights.request_bytes -= unused.weights.request_bytes;
    charge.weights.cost -= unused.weights.cost;
    charge.response_bytes -= unused.response_bytes;
}

void Admission::correct(ThreadContext& thread, Charge& charge, Unit unit, double actual,
                        Instant when, bool last) {
    store_.epochs.enter(thread.epoch);
    const std::int64_t now = nanoseconds(when);
    if (!(actual >= 0 && actual <= max_weight_)) {
        thread.clamped_weights.add(1);
        actual = actual < 0 ? 0 : max_weight_;
    }
    WEIR_ASSERT(actual >= 0 && actual <= max_weight_);
    const double before =
        weight_of(unit, charge.weights, static_cast<double>(charge.response_bytes));
    for_each_charged(
        charge,
        [&](const CompiledDefinition& definition) {
            if (figure_unit(definition) != unit) {
                return;
            }
            DefinitionFigures& figures = thread.figures[definition.statistics];
            (actual > before ? figures.admitted : figures.refunded).add(std::abs(actual - before));
        },
        [&](std::uint32_t id, const Bucket& bucket) {
            if (bucket.limit.unit == unit && counts_still(charge, bucket, now)) {
                correct_limit(bucket, before, actual, last, now);
                tell_engine(thread, id, bucket);
            }
        });
    switch (unit) {
        case Unit::requests:
            charge.weights.requests = actual;
            break;
        case Unit::request_bytes:
            charge.weights.request_bytes = actual;
            break;
        case Unit::response_bytes:
            charge.response_bytes = static_cast<float>(actual);
            break;
        case Unit::cost:
            charge.weights.cost = actual;
            break;
    }
}

void Admission::add(ThreadContext& thread, const Charge& charge, Unit unit, double weight,
                    Instant when) {
    store_.epochs.enter(thread.epoch);
    const std::int64_t now = nanoseconds(when);
    if (!(weight >= 0 && weight <= max_weight_)) {
        thread.clamped_weights.add(1);
        weight = weight < 0 ? 0 : max_weight_;
    }
    for_each_charged(
        charge,
        [&](const CompiledDefinition& definition) {
            if (figure_unit(definition) == unit) {
                thread.figures[definition.statistics].admitted.add(weight);
            }
        },
        [&](std::uint32_t id, const Bucket& bucket) {
            if (bucket.limit.unit == unit && counts_still(charge, bucket, now)) {
                charge_more(bucket, weight, weight, now);
                note_more(bucket, weight, now);
                tell_engine(thread, id, bucket);
            }
        });
}

}  // namespace weir::limiter
