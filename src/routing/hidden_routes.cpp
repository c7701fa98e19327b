#include "routing/hidden_routes.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "http/fields.h"
#include "routing/compiled_routes.h"

namespace weir::routing {
namespace {

/// Whether `wide` matches every segment that `narrow` matches.
bool covers(const SegmentPattern& wide, const SegmentPattern& narrow) {
    if (!narrow.wildcard) {
        return wide.fits(narrow.prefix);
    }
    return wide.wildcard && narrow.prefix.starts_with(wide.prefix) &&
           narrow.suffix.ends_with(wide.suffix);
}

bool covers(const PathPattern& wide, const PathPattern& narrow) {
    const std::size_t fixed = wide.segments.size();
    const bool as_long = wide.open_end ? narrow.segments.size() >= fixed
                                       : narrow.segments.size() == fixed && !narrow.open_end;
    return as_long &&
           std::equal(wide.segments.begin(), wide.segments.end(), narrow.segments.begin(),
                      [](const SegmentPattern& one, const SegmentPattern& other) {
                          return covers(one, other);
                      });
}

bool covers(const HostPattern& wide, const HostPattern& narrow) {
    return wide.open_front == narrow.open_front && wide.labels.size() == narrow.labels.size() &&
           std::equal(wide.labels.begin(), wide.labels.end(), narrow.labels.begin(),
                      [](const SegmentPattern& one, const SegmentPattern& other) {
                          return covers(one, other);
                      });
}

bool covers_hosts(const std::vector<HostPattern>& wide, const std::vector<HostPattern>& narrow) {
    if (wide.empty()) {
        return true;
    }
    return !narrow.empty() &&
           std::all_of(narrow.begin(), narrow.end(), [&wide](const HostPattern& one) {
               return std::any_of(wide.begin(), wide.end(),
                                  [&one](const HostPattern& other) { return covers(other, one); });
           });
}

bool covers_methods(const std::vector<std::string>& wide, const std::vector<std::string>& narrow) {
    if (wide.empty()) {
        return true;
    }
    return !narrow.empty() &&
           std::all_of(narrow.begin(), narrow.end(), [&wide](const std::string& method) {
               return std::find(wide.begin(), wide.end(), method) != wide.end();
           });
}

/// Whether a request that has the fields of `narrow` has those of `wide`, too.
bool covers_fields(const std::vector<HeaderMatch>& wide, const std::vector<HeaderMatch>& narrow) {
    const auto captures = [](const HeaderMatch& match) {
        return match.exact && match.value.find('{') != std::string::npos;
    };
    // Of a value with a capture only the text around it matters.
    const auto around = [](const std::string& value) {
        return std::pair(value.substr(0, value.find('{')), value.substr(value.find('}')));
    };
    const auto value_covered = [&](const HeaderMatch& wanted, const HeaderMatch& given) {
        if (captures(wanted) != captures(given)) {
            return false;
        }
        return captures(wanted) ? around(wanted.value) == around(given.value)
                                : wanted.value == given.value;
    };
    return std::all_of(wide.begin(), wide.end(), [&](const HeaderMatch& wanted) {
        return std::any_of(narrow.begin(), narrow.end(), [&](const HeaderMatch& given) {
            return http::equals_ignoring_case(given.name, wanted.name) &&
                   (!wanted.exact || (given.exact && value_covered(wanted, given)));
        });
    });
}

/// A route with its settings, of which the compiled form does not show everything.
struct BothForms {
    const CompiledRoute& compiled;
    const RouteSettings& settings;
};

/// Whether `wide` matches every request that `narrow` matches.
bool covers(const BothForms& wide, const BothForms& narrow) {
    if (!covers_fields(wide.settings.match.headers, narrow.settings.match.headers)) {
        return false;
    }
    if (wide.compiled.s3) {
        return narrow.compiled.s3 && wide.compiled.domains == narrow.compiled.domains;
    }
    if (!covers_methods(wide.settings.match.methods, narrow.settings.match.methods)) {
        return false;
    }
    const bool hosts = covers_hosts(wide.compiled.hosts, narrow.compiled.hosts);
    if (!wide.compiled.path) {
        return hosts;
    }
    return hosts && narrow.compiled.path && covers(*wide.compiled.path, *narrow.compiled.path);
}

}  // namespace

std::vector<HiddenRoute> hidden_routes(const RoutingSettings& settings) {
    const auto compiled = compile_routes(settings);
    const auto* all = std::get_if<std::unique_ptr<CompiledRoutes>>(&compiled);
    std::vector<HiddenRoute> hidden;
    if (all == nullptr) {
        return hidden;
    }
    const auto& routes = (*all)->routes;
    const auto form = [&](std::size_t at) { return BothForms{routes[at], settings.routes[at]}; };
    const std::size_t count = std::min(routes.size(), kMaxComparedRoutes);
    for (std::size_t route = 1; route < count; ++route) {
        for (std::size_t by = 0; by < route; ++by) {
            if (covers(form(by), form(route))) {
                hidden.push_back({route, by});
                break;
            }
        }
    }
    return hidden;
}

}  // namespace weir::routing
