#pragma once
// The quota tree of the benchmark: three levels, one limit each.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/limiter.h"

inline constexpr std::string_view kLongPrefix = "eu-west-bucket-";
inline constexpr std::string_view kShortPrefix = "bucket";

inline weir::Instant instant(double seconds) { return weir::Instant(weir::from_seconds(seconds)); }

inline weir::limiter::QuotaDefinition definition(std::string name,
                                                 std::optional<std::string> parent, double amount) {
    weir::limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    definition.limits.emplace_back();
    definition.limits[0].amount = amount;
    return definition;
}

/// A root quota, a template below it, and below that the template of the leaves.
inline std::vector<weir::limiter::QuotaDefinition> tree(const std::string& root, double parents,
                                                        double leaves) {
    return {definition(root, {}, 1e9), definition(root + "/{bucket}", root, parents),
            definition(root + "/{bucket}/read", root + "/{bucket}", leaves)};
}
inline std::vector<weir::limiter::QuotaDefinition> definitions(double root_limit = 1e9,
                                                               std::optional<bool> fair = {}) {
    auto quotas = tree("s3", 1000, 500);
    quotas[0].limits[0].amount = root_limit;
    if (fair) {
        weir::limiter::QuotaOptions options;
        options.fair = fair;
        quotas[0].options = quotas[1].options = options;
    }
    return quotas;
}

inline weir::limiter::LimiterOptions options_for(std::size_t instances) {
    weir::limiter::LimiterOptions options;
    options.max_instances = static_cast<std::uint32_t>(instances + 16);
    options.seed = 42;
    return options;
}
