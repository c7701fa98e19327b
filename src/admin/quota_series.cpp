#include "admin/quota_series.h"

#include <algorithm>
#include <utility>

namespace weir::admin {
namespace {

/// What a counter grew by; one that fell began anew at 0.
template <class Number>
Number increase(Number now, Number before) {
    return now >= before ? now - before : now;
}

}  // namespace

std::vector<QuotaFigures> QuotaSeries::bound(std::vector<QuotaFigures> quotas) {
    ++scrape_;
    forget_gone(quotas);
    other_.instances = 0;
    other_.discard_probability_max = 0;
    other_.level_ratio_max = 0;
    Gauges gauges;
    std::vector<QuotaFigures> result;
    for (auto& figures : quotas) {
        if (has_own(figures.name)) {
            result.push_back(std::move(figures));
        } else {
            add_to_other(std::move(figures), gauges);
        }
    }
    std::erase_if(others_, [&](const auto& entry) { return entry.second.scrape != scrape_; });
    finish_other(gauges);
    if (dropped_ > 0) result.push_back(other_);
    return result;
}

void QuotaSeries::forget_gone(const std::vector<QuotaFigures>& quotas) {
    if (own_.empty()) return;
    std::unordered_set<std::string_view> present;
    for (const auto& figures : quotas) present.insert(figures.name);
    std::erase_if(own_, [&](const std::string& name) { return !present.contains(name); });
}

bool QuotaSeries::has_own(const std::string& name) {
    if (own_.contains(name)) return true;
    if (own_.size() >= max_quotas_ || name == kOtherQuotas || others_.contains(name)) return false;
    own_.insert(name);
    return true;
}

void QuotaSeries::add_to_other(QuotaFigures figures, Gauges& gauges) {
    auto [place, is_new] = others_.try_emplace(figures.name);
    if (is_new) ++dropped_;
    const QuotaFigures& before = place->second.counters;
    const double offered = increase(figures.offered, before.offered);
    other_.offered += offered;
    other_.admitted += increase(figures.admitted, before.admitted);
    other_.refused += increase(figures.refused, before.refused);
    other_.shadow_refused += increase(figures.shadow_refused, before.shadow_refused);
    other_.overflowed += increase(figures.overflowed, before.overflowed);
    other_.instances += figures.instances;
    other_.discard_probability_max =
        std::max(other_.discard_probability_max, figures.discard_probability_max);
    other_.level_ratio_max = std::max(other_.level_ratio_max, figures.level_ratio_max);
    gauges.weight += offered;
    gauges.discard_probability += offered * figures.discard_probability;
    gauges.level_ratio += offered * figures.level_ratio;
    gauges.plain_discard_probability += figures.discard_probability;
    gauges.plain_level_ratio += figures.level_ratio;
    gauges.quotas += 1;
    figures.limits.clear();
    place->second = {.counters = std::move(figures), .scrape = scrape_};
}

void QuotaSeries::finish_other(const Gauges& gauges) {
    other_.name = kOtherQuotas;
    if (gauges.weight > 0) {
        other_.discard_probability = gauges.discard_probability / gauges.weight;
        other_.level_ratio = gauges.level_ratio / gauges.weight;
    } else {
        const double count = std::max(1.0, gauges.quotas);
        other_.discard_probability = gauges.plain_discard_probability / count;
        other_.level_ratio = gauges.plain_level_ratio / count;
    }
}

}  // namespace weir::admin
