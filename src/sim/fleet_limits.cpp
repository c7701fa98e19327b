#include "sim/fleet_limits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "limiter/name_pattern.h"
#include "limiter/template_index.h"
#include "sim/lists_of_names.h"
#include "sync/synced_limit.h"

namespace weir::sim {
namespace {

/// Finds the definition of a name as the limiter does: an exact one, or the most literal template.
class DefinitionLookup {
  public:
    explicit DefinitionLookup(std::span<const limiter::QuotaDefinition> definitions)
        : definitions_(definitions) {
        for (std::uint32_t i = 0; i < definitions.size(); ++i) {
            const auto pattern = limiter::NamePattern::parse(definitions[i].name);
            if (pattern && pattern->has_captures()) {
                templates_.add(*pattern, i);
            } else {
                exact_.emplace(definitions[i].name, i);
            }
        }
    }
    [[nodiscard]] const limiter::QuotaDefinition* find(std::string_view name) const {
        if (const auto exact = exact_.find(name); exact != exact_.end()) {
            return &definitions_[exact->second];
        }
        const auto found = templates_.find(name);
        return found ? &definitions_[*found] : nullptr;
    }

  private:
    std::span<const limiter::QuotaDefinition> definitions_;
    std::map<std::string, std::uint32_t, std::less<>> exact_;
    limiter::TemplateIndex templates_;
};

/// The name of the quota above, with the captures of this name filled in.
std::optional<std::string> parent_of(const std::string& name,
                                     const limiter::QuotaDefinition& definition) {
    if (!definition.parent) {
        return std::nullopt;
    }
    const auto pattern = limiter::NamePattern::parse(definition.name);
    const auto parent = limiter::NamePattern::parse(*definition.parent);
    if (!pattern || !parent) {
        return std::nullopt;
    }
    const auto captures = pattern->match(name);
    return captures ? std::optional(parent->expand(*captures)) : std::nullopt;
}

/// Collects limits by the names of their quotas.
class Collector {
  public:
    Collector(FleetLimits& found, const DefinitionLookup& definitions)
        : found_(found), definitions_(definitions) {}

    /// The indices of the quota's limits, which are added when they are first met.
    const std::vector<LimitIndex>& places_of(const std::string& name,
                                             const limiter::QuotaDefinition& definition) {
        const auto [at, is_new] = places_.try_emplace(name);
        for (std::size_t i = 0; is_new && i < definition.limits.size(); ++i) {
            const limiter::RateLimit& limit = definition.limits[i];
            sync::LimitKey key = sync::key_of(name, limit.unit, limit.period);
            key.kind = static_cast<std::uint8_t>(limit.kind);
            at->second.push_back(static_cast<LimitIndex>(found_.limits.size()));
            found_.limits.push_back({name, key, limit.resolved()});
            if (!limit.is_rate()) {
                found_.limits.back().counted = limit;
            }
        }
        return at->second;
    }
    /// The limits of all chains of a leaf, each once.
    std::vector<LimitIndex> chain_of(std::string_view leaf) {
        std::vector<LimitIndex> chain;
        for (const std::string_view name : names_of(leaf)) {
            add_chain(std::string(name), chain);
        }
        return chain;
    }

  private:
    void add_chain(std::optional<std::string> name, std::vector<LimitIndex>& chain) {
        while (name) {
            const limiter::QuotaDefinition* definition = definitions_.find(*name);
            if (definition == nullptr) {
                break;
            }
            for (const LimitIndex limit : places_of(*name, *definition)) {
                if (std::find(chain.begin(), chain.end(), limit) == chain.end()) {
                    chain.push_back(limit);
                }
            }
            name = parent_of(*name, *definition);
        }
    }

    FleetLimits& found_;
    const DefinitionLookup& definitions_;
    std::map<std::string, std::vector<LimitIndex>> places_;
};

/// The highest rate that any phase offers to each leaf.
std::vector<double> largest_rates(const LoadPlan& load) {
    std::vector<double> rates(load.quotas.size());
    for (const LoadPhase& phase : load.phases) {
        const std::vector<double>& given = phase.shares.empty() ? load.shares : phase.shares;
        const std::vector<double> shares =
            given.empty() ? std::vector<double>(load.quotas.size(), 1.0) : given;
        const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
        for (std::size_t i = 0; i < rates.size() && all > 0; ++i) {
            rates[i] = std::max(rates[i], phase.rate * shares[i] / all);
        }
    }
    return rates;
}

}  // namespace

FleetLimits find_limits(const LoadPlan& load,
                        std::span<const limiter::QuotaDefinition> definitions) {
    FleetLimits found;
    const DefinitionLookup index(definitions);
    Collector collector(found, index);
    for (const limiter::QuotaDefinition& definition : definitions) {
        if (!limiter::is_template(definition.name)) {
            static_cast<void>(collector.places_of(definition.name, definition));
        }
    }
    const std::vector<double> rates = largest_rates(load);
    for (std::size_t i = 0; i < load.quotas.size(); ++i) {
        found.chains.push_back(collector.chain_of(load.quotas[i]));
        for (const LimitIndex limit : found.chains.back()) {
            found.limits[limit].offered += rates[i];
        }
    }
    return found;
}

bool is_covered(std::string_view name, std::span<const limiter::QuotaDefinition> definitions) {
    return DefinitionLookup(definitions).find(name) != nullptr;
}

}  // namespace weir::sim
