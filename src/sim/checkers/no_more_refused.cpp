#include "sim/checkers/no_more_refused.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace weir::sim {
namespace {

using Definitions = std::map<std::string, const limiter::QuotaDefinition*, std::less<>>;

/// The leaf and all that is above it.
std::vector<const limiter::QuotaDefinition*> chain_of(const std::string& leaf,
                                                      const Definitions& definitions) {
    std::vector<const limiter::QuotaDefinition*> chain;
    auto at = definitions.find(leaf);
    while (at != definitions.end()) {
        chain.push_back(at->second);
        at = at->second->parent ? definitions.find(*at->second->parent) : definitions.end();
    }
    return chain;
}

/// The most that any phase offers to each leaf.
std::vector<double> largest_rates(const LoadPlan& load) {
    std::vector<double> rates(load.quotas.size());
    for (const Phase& phase : load.phases) {
        const std::vector<double>& given = phase.shares.empty() ? load.shares : phase.shares;
        const std::vector<double> shares =
            given.empty() ? std::vector<double>(load.quotas.size(), 1.0) : given;
        const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            rates[i] = std::max(rates[i], phase.rate * shares[i] / all);
        }
    }
    return rates;
}

}  // namespace

std::vector<bool> leaves_below_their_limits(
    const LoadPlan& load, const std::vector<limiter::QuotaDefinition>& definitions) {
    Definitions by_name;
    for (const limiter::QuotaDefinition& definition : definitions) {
        by_name.emplace(definition.name, &definition);
    }
    const std::vector<double> rates = largest_rates(load);
    std::map<const limiter::QuotaDefinition*, double> offered;
    for (std::size_t i = 0; i < load.quotas.size(); ++i) {
        for (const limiter::QuotaDefinition* each : chain_of(load.quotas[i], by_name)) {
            offered[each] += rates[i];
        }
    }
    std::vector<bool> below;
    for (const std::string& leaf : load.quotas) {
        const auto chain = chain_of(leaf, by_name);
        below.push_back(std::all_of(chain.begin(), chain.end(), [&](const auto* each) {
            return std::all_of(each->limits.begin(), each->limits.end(), [&](const auto& limit) {
                return offered.at(each) <= NoMoreRefused::kBelow * limit.rate();
            });
        }));
    }
    return below;
}

NoMoreRefused::NoMoreRefused(std::vector<bool> below)
    : below_(std::move(below)), counts_(below_.size()) {}

void NoMoreRefused::request(const RequestFact& request) {
    Counts& counts = counts_[request.quota];
    counts.offered += 1;
    counts.refused += request.admitted ? 0 : 1;
    counts.central_refused += request.central_admitted ? 0 : 1;
}

void NoMoreRefused::settled(const Facts& facts, Findings& findings) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const Counts& counts = counts_[i];
        const double most = counts.central_refused + kShare * counts.offered + kFew;
        if (below_[i] && counts.refused > most) {
            findings.add(name(), facts.at,
                         "quota " + std::to_string(i) + ": refused " +
                             std::to_string(counts.refused) + " of " +
                             std::to_string(counts.offered) + ", one central bucket " +
                             std::to_string(counts.central_refused));
        }
    }
}

}  // namespace weir::sim
