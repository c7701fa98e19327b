#pragma once
// Routes in the form that they are matched in. For this module's sources. Immutable after
// compiling.

#include <string>
#include <vector>

#include "routing/name_template.h"
#include "routing/pattern.h"
#include "routing/router.h"
#include "routing/weight.h"

namespace weir::routing {

/// The captures of the S3 preset, in this order.
inline constexpr std::size_t kBucket = 0;
inline constexpr std::size_t kOperation = 1;
inline constexpr std::size_t kAccess = 2;

struct CompiledRoute {
    bool s3 = false;
    std::vector<std::string> domains;  // normal
    std::vector<HostPattern> hosts;
    std::optional<PathPattern> path;
    std::vector<std::string> methods;
    std::vector<HeaderMatch> headers;
    std::vector<NameTemplate> quotas;
    WeightRule weight;
    bool allow_ambiguous_path = false;
};

class CompiledRoutes {
  public:
    std::vector<CompiledRoute> routes;
    PathRules rules;
};

class ScratchState {
  public:
    std::string host;
    std::string bucket;
    NormalPath path;
    NormalPath decoded_first;
    Captures captures{};
    std::string names;
    std::vector<std::size_t> name_ends;
    std::vector<std::string_view> name_views;
};

/// The routes, or all errors.
[[nodiscard]] std::variant<std::unique_ptr<CompiledRoutes>, std::vector<RouteError>> compile_routes(
    const RoutingSettings& settings);

}  // namespace weir::routing
