#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/admission.h"

// Gives a charge back after the decision, or corrects it when the true weight is known.

namespace weir::limiter {
namespace {

/// Charges the limit for the weight that is missing, or gives back the weight that is too much.
void correct_limit(const Bucket& bucket, double before, double actual, bool last,
                   std::int64_t now) {
    if (actual < before) {
        give_back(bucket, before - actual, now);
    } else if (actual > before) {
        charge_more(bucket, actual - before, actual, now);
        note_pending(bucket, 0, actual - before, now);
    }
    if (last) {
        note_weight(bucket, actual, now);
    }
}

}  // namespace

/// Visits the quotas of the chain to which the charge was made, as far as they still exist, and in
/// each quota the limits that were charged.
template <class VisitQuota, class VisitLimit>
void Admission::for_each_charged(const Charge& charge, VisitQuota visit_quota,
                                 VisitLimit visit_limit) {
    if (!charge || !store_.live(charge.leaf.instance, charge.leaf.generation)) {
        return;
    }
    const bool same = charge.version == definitions_.version();
    std::uint32_t head = charge.leaf.instance;
    std::uint32_t index = 0;
    for (std::uint32_t depth = 1; head != 0 && depth <= kMaxChainDepth; ++depth) {
        const CompiledDefinition* definition = definitions_.of(store_.record(head));
        if (definition == nullptr) {
            return;
        }
        visit_quota(*definition);
        // What was only counted has no limit that was charged.
        const bool counted = depth <= charge.leaf.unjudged_depth;
        for (std::uint32_t id = counted ? 0 : head; id != 0 && index < kMaxChainLimits;
             id = store_.record(id).next()) {
            LimitRecord& record = store_.record(id);
            const CompiledLimit* limit = definition->find(record.identity(), 0);
            if (limit == nullptr || definition->mode == Mode::off) {
                continue;
            }
            // After an edit of definitions the limits may have another order. Then all enforced
            // ones count as charged.
            const bool charged =
                same ? (charge.charged >> index & 1) != 0 : definition->mode == Mode::enforce;
            ++index;
            if (charged) {
                visit_limit(id, Bucket{record, store_.view_of(record), *limit});
            }
        }
        if (depth == charge.leaf.overflow_depth) {
            head = charge.leaf.resume;  // no child keeps this ancestor, so it may be gone
            if (!store_.live(head, charge.leaf.resume_generation)) {
                return;
            }
        } else {
            head = store_.record(head).owner.load(kRelaxed);
        }
    }
}

/// The engine may have ceased to look at the limit since the decision.
void Admission::tell_engine(ThreadContext& thread, std::uint32_t id, const Bucket& bucket) {
    if (fleet_.is_listening() && bucket.limit.fleet) {
        FleetPort::note_active(thread, id, bucket.record);
    }
}

std::uint32_t Admission::hold(const Charge& charge) {
    if (!charge) {
        return 0;
    }
    // An overflow instance always exists; the instances above it may be gone.
    const LeafId& leaf = charge.leaf;
    const bool overflow = leaf.overflow_depth > 0;
    const std::uint32_t id = overflow ? leaf.resume : leaf.instance;
    return store_.hold(id, overflow ? leaf.resume_generation : leaf.generation) ? id : 0;
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
            give_back(bucket, weight_of(bucket.limit.unit, charge.weights, response_bytes), now);
            tell_engine(thread, id, bucket);
        });
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
            if (bucket.limit.unit == unit) {
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
            if (bucket.limit.unit == unit) {
                charge_more(bucket, weight, weight, now);
                note_pending(bucket, 0, weight, now);
                tell_engine(thread, id, bucket);
            }
        });
}

}  // namespace weir::limiter
