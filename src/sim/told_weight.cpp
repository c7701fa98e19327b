#include "sim/told_weight.h"

namespace weir::sim {
namespace {

double& sum_of(ToldWeight& told, sync::WeightFate fate) {
    switch (fate) {
        case sync::WeightFate::counted:
            return told.counted;
        case sync::WeightFate::first_sight:
            return told.first_sight;
        case sync::WeightFate::late:
            return told.late;
        case sync::WeightFate::ceiling:
            return told.ceiling;
        case sync::WeightFate::refused:
            return told.refused;
        case sync::WeightFate::drained:
            return told.drained;
        case sync::WeightFate::forgotten:
            break;
    }
    return told.forgotten;
}

}  // namespace

void add(ToldWeight& sum, const ToldWeight& told) {
    sum.counted += told.counted;
    sum.first_sight += told.first_sight;
    sum.late += told.late;
    sum.ceiling += told.ceiling;
    sum.refused += told.refused;
    sum.drained += told.drained;
    sum.forgotten += told.forgotten;
}

std::size_t ToldLedger::AccountHash::operator()(const Account& account) const {
    return static_cast<std::size_t>(sync::hash(account.key) ^ account.life);
}

void ToldLedger::note(const sync::LimitKey& key, std::uint32_t life, sync::WeightFate fate,
                      double weight) {
    sum_of(told_[{key, life}], fate) += weight;
}

ToldWeight ToldLedger::of(const sync::LimitKey& key, std::uint32_t life) const {
    const auto found = told_.find({key, life});
    return found == told_.end() ? ToldWeight{} : found->second;
}

}  // namespace weir::sim
