#pragma once
// Routes in the form in which requests are matched with them. Used by the sources of this module
// only. Immutable once compiled, and so thread-safe; ScratchState belongs to one thread.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/request_head.h"
#include "routing/escapes.h"
#include "routing/name_lists.h"
#include "routing/name_template.h"
#include "routing/pattern.h"
#include "routing/route_captures.h"
#include "routing/route_index.h"
#include "routing/router.h"
#include "routing/weight.h"

namespace weir::routing {

/// Indexes of the captures of the S3 preset.
inline constexpr std::size_t kBucket = 0;
inline constexpr std::size_t kOperation = 1;
inline constexpr std::size_t kAccess = 2;

/// The methods of a route.
class MethodSet {
  public:
    void add(std::string_view method);
    /// An empty set contains every method.
    [[nodiscard]] bool contains(const http::RequestHead& head) const {
        if ((known_ >> static_cast<unsigned>(head.method()) & 1U) != 0) {
            return true;
        }
        return others_.empty() ? known_ == 0 : contains_other(head.method_text());
    }

  private:
    [[nodiscard]] bool contains_other(std::string_view method) const;

    unsigned known_ = 0;  // a bit for each http::Method but `other`
    std::vector<std::string> others_;
};

/// A condition of match.headers.
struct FieldCondition {
    std::string name;
    std::optional<std::string> value;   ///< the first field of that name has exactly this value
    std::optional<std::size_t> source;  ///< this source of the route has a value
};

struct CompiledRoute {
    bool s3 = false;
    std::vector<std::string> domains;  // in normal form
    std::vector<HostPattern> hosts;
    std::optional<PathPattern> path;
    MethodSet methods;
    std::vector<FieldCondition> headers;
    std::vector<NameTemplate> quotas;  // of all lists, one list after the other
    std::vector<std::size_t> list_ends;
    std::vector<NumberedSource> sources;
    // What the quotas' names use: indexes of captures of path and host, and places in `sources`.
    std::vector<std::size_t> captures;
    std::vector<std::size_t> used_sources;
    std::size_t max_names_size = 0;  // of the names of all quotas together
    WeightRule weight;
    std::vector<StatusRange> refund;
    bool allow_ambiguous_path = false;
};

class CompiledRoutes {
  public:
    std::vector<CompiledRoute> routes;
    RouteIndex index;
    PathRules rules;
    // Whether any route looks at the path or the host; if none does, its normal form is not made.
    bool any_path = false;
    bool any_host = false;
};

/// No value of a request is longer than its head, and few heads are longer than this.
inline constexpr std::size_t kUsualHead = 16 * 1024;

class ScratchState {
  public:
    ScratchState() {
        escaped.reserve((kMaxCaptures + 1) * kMaxCapture);
        decoded.reserve(kUsualHead);
    }

    std::string host;
    std::string bucket;
    NormalPath path;
    NormalPath decoded_first;
    Captures captures{};
    Captures safe{};      // the same captures in the form in which names contain them
    std::string escaped;  // text of the captures that had to be escaped; never grows, because views
                          // point into it
    std::string decoded;  // text of a source that had to be decoded
    std::vector<char> names;
    std::array<std::string_view, kMaxQuotaNames> name_views{};
    std::array<std::uint8_t, kMaxNameLists> list_ends{};
};

/// The compiled routes, or all errors of the settings.
[[nodiscard]] std::variant<std::unique_ptr<CompiledRoutes>, std::vector<RouteError>> compile_routes(
    const RoutingSettings& settings);

}  // namespace weir::routing
