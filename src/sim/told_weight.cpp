#include "sim/told_weight.h"

namespace weir::sim {

ToldWeight& ToldWeight::operator+=(const ToldWeight& other) {
    for (std::size_t fate = 0; fate < kFates; ++fate) {
        by_fate_[fate] += other.by_fate_[fate];
    }
    return *this;
}

std::size_t ToldLedger::AccountHash::operator()(const Account& account) const {
    return static_cast<std::size_t>(sync::hash(account.key) ^ account.life);
}

void ToldLedger::note(const sync::LimitKey& key, std::uint32_t life, sync::WeightFate fate,
                      double weight) {
    told_[{key, life}][fate] += weight;
}

ToldWeight ToldLedger::of(const sync::LimitKey& key, std::uint32_t life) const {
    const auto found = told_.find({key, life});
    return found == told_.end() ? ToldWeight{} : found->second;
}

}  // namespace weir::sim
