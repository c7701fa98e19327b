#include "app/loader.h"

#include <algorithm>

#include "app/files.h"
#include "base/hash.h"

namespace weir::app {
namespace {

/// Only to notice changes; nobody gains from making it collide in a file of their own.
std::uint64_t add_to_hash(std::uint64_t hash, std::string_view text) {
    return mix(hash ^ keyed_hash(text, HashKey{}));
}

bool counts_weight(const limiter::RateLimit& limit) {
    return limit.unit == limiter::Unit::requests || limit.unit == limiter::Unit::cost;
}

/// The heaviest weight that the route gives without asking the request.
double fixed_weight(const routing::WeightSettings& weight) {
    if (weight.source != routing::WeightSource::constant &&
        weight.source != routing::WeightSource::table) {
        return 0;
    }
    double heaviest = weight.constant;
    for (const auto& [operation, value] : weight.table) {
        heaviest = std::max(heaviest, value);
    }
    return heaviest;
}

void warn_about_quota(double weight, std::size_t route, const limiter::QuotaDefinition& quota,
                      const std::string& file, config::Diagnostics& diagnostics) {
    for (const limiter::RateLimit& limit : quota.limits) {
        const limiter::LimitParameters parameters = limit.resolved();
        if (counts_weight(limit) && !parameters.zero() && weight > parameters.low) {
            diagnostics.add({config::Severity::warning,
                             file,
                             {},
                             "routes[" + std::to_string(route) + "].weight",
                             "a weight of " + std::to_string(static_cast<std::uint64_t>(weight)) +
                                 " exceeds the low burst of quota '" + quota.name +
                                 "': such a request passes only when the bucket is nearly empty",
                             {}});
        }
    }
}

std::vector<config::SourceText> read_quota_texts(const config::Settings& settings, Loaded& loaded) {
    loaded.quota_files = expand_quota_paths(settings.quotas, loaded.diagnostics);
    std::vector<config::SourceText> sources = read_sources(loaded.quota_files, loaded.diagnostics);
    for (const config::SourceText& source : sources) {
        loaded.quotas_hash = add_to_hash(add_to_hash(loaded.quotas_hash, source.file), source.text);
    }
    return sources;
}

}  // namespace

void warn_about_weights(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                        const std::string& file, config::Diagnostics& diagnostics) {
    for (std::size_t route = 0; route < settings.routing.routes.size(); ++route) {
        const routing::RouteSettings& rule = settings.routing.routes[route];
        const double weight = fixed_weight(rule.weight);
        for (const config::QuotaSet& set : sets) {
            for (const limiter::QuotaDefinition& quota : set.quotas) {
                const auto& names = rule.quotas;
                if (std::find(names.begin(), names.end(), quota.name) != names.end()) {
                    warn_about_quota(weight, route, quota, file, diagnostics);
                }
            }
        }
    }
}

Loaded load(const ConfigSource& source) {
    Loaded loaded;
    std::optional<config::SourceText> text;
    if (source.file) {
        auto content = read_file(*source.file);
        if (!content) {
            report_file(*source.file, content.error().message, loaded.diagnostics);
            return loaded;
        }
        text = config::SourceText{*source.file, std::move(*content)};
        loaded.settings_hash = add_to_hash(loaded.settings_hash, text->text);
    }
    for (const config::Override& one : source.overrides) {
        loaded.settings_hash = add_to_hash(add_to_hash(loaded.settings_hash, one.key), one.text);
    }
    loaded.settings = config::load_settings(text, source.overrides, loaded.diagnostics);
    loaded.sets =
        config::parse_quota_sets(read_quota_texts(loaded.settings, loaded), loaded.diagnostics);
    if (loaded.good()) {
        warn_about_weights(loaded.settings, loaded.sets, source.file.value_or("settings"),
                           loaded.diagnostics);
    }
    return loaded;
}

Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash) {
    Loaded loaded;
    const std::vector<config::SourceText> sources = read_quota_texts(settings, loaded);
    loaded.quotas_unchanged = loaded.good() && loaded.quotas_hash == known_hash;
    if (!loaded.quotas_unchanged) {
        loaded.sets = config::parse_quota_sets(sources, loaded.diagnostics);
    }
    return loaded;
}

}  // namespace weir::app
