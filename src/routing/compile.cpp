#include <algorithm>
#include <array>
#include <cmath>

#include "base/characters.h"
#include "base/closest.h"
#include "routing/compiled_routes.h"
#include "routing/s3_operations.h"

namespace weir::routing {
namespace {

std::string indexed(std::string_view field, std::size_t index) {
    return std::string(field) + "[" + std::to_string(index) + "]";
}

/// Compiles one route and collects its errors.
class RouteCompiler {
  public:
    RouteCompiler(const RoutingSettings& all, std::size_t index, std::vector<RouteError>& errors)
        : all_(all), settings_(all.routes[index]), index_(index), errors_(errors) {}

    CompiledRoute compile() {
        route_.allow_ambiguous_path = settings_.allow_ambiguous_path;
        settings_.preset.empty() ? pattern_route() : preset_route();
        headers();
        quotas();
        weight();
        route_.refund = settings_.refund.value_or(all_.refund);
        measure_names();
        return std::move(route_);
    }

  private:
    void fail(std::string field, std::size_t column, std::string message,
              std::string suggestion = {}) {
        errors_.push_back(
            {index_, std::move(field), column, std::move(message), std::move(suggestion)});
    }

    void pattern_route() {
        if (!settings_.domains.empty()) {
            fail("domain", 0, "only the preset s3 has domains");
        }
        hosts();
        if (!settings_.match.path.empty()) {
            auto compiled = compile_path(settings_.match.path, captures_.names);
            if (const auto* failure = std::get_if<PatternError>(&compiled)) {
                fail("match.path", failure->column, failure->message);
            } else {
                route_.path = std::move(std::get<PathPattern>(compiled));
            }
        }
        for (std::size_t i = 0; i < settings_.match.methods.size(); ++i) {
            if (!is_token(settings_.match.methods[i])) {
                fail(indexed("match.methods", i), 0, "not a method");
            }
        }
        for (const auto& method : settings_.match.methods) {
            route_.methods.add(method);
        }
    }

    /// Compiles the hosts. A capture of one host must be in all of them, because any of them may
    /// match and the names need it.
    void hosts() {
        for (std::size_t i = 0; i < settings_.match.hosts.size(); ++i) {
            CaptureNames own;
            auto compiled = compile_host(settings_.match.hosts[i], own);
            if (const auto* failure = std::get_if<PatternError>(&compiled)) {
                fail(indexed("match.hosts", i), failure->column, failure->message);
                continue;
            }
            if (i == 0) {
                captures_.names = own;
            }
            if (own != captures_.names) {
                fail(indexed("match.hosts", i), 1,
                     "all hosts of a route must capture the same names in the same order");
                continue;
            }
            route_.hosts.push_back(std::move(std::get<HostPattern>(compiled)));
        }
    }

    void preset_route() {
        if (settings_.preset != "s3") {
            fail("preset", 1, "unknown preset \"" + settings_.preset + "\"",
                 std::string(closest(settings_.preset, std::array{std::string_view("s3")})));
            return;
        }
        const auto& match = settings_.match;
        if (!match.hosts.empty() || !match.path.empty() || !match.methods.empty()) {
            fail("match", 0, "a preset matches by itself; only match.headers may be added");
        }
        route_.s3 = true;
        captures_.names = {"bucket", "operation", "access"};
        for (std::size_t i = 0; i < settings_.domains.size(); ++i) {
            const auto& domain = settings_.domains[i];
            if (const auto at = domain.find_first_of("/:{}* "); at != std::string::npos) {
                fail(indexed("domain", i), at + 1,
                     "a domain is a plain host name without scheme, port and path");
            }
            std::string normal;
            append_normal_host(normal, domain);
            if (normal.empty()) {
                fail(indexed("domain", i), 1, "a domain must not be empty");
            }
            route_.domains.push_back(std::move(normal));
        }
    }

    void headers() {
        for (std::size_t i = 0; i < settings_.match.headers.size(); ++i) {
            const auto& match = settings_.match.headers[i];
            if (!is_token(match.name)) {
                fail(indexed("match.headers", i), 0, "not a header name");
                continue;
            }
            FieldCondition condition{.name = match.name, .value = {}, .source = {}};
            if (match.exact) {
                auto added = captures_.add_field(match.name, match.value);
                if (auto* failure = std::get_if<PatternError>(&added)) {
                    fail("match.headers." + match.name, failure->column,
                         std::move(failure->message), std::move(failure->suggestion));
                    continue;
                }
                condition.source = std::get<std::optional<std::size_t>>(added);
                if (!condition.source) {
                    condition.value = match.value;
                }
            }
            route_.headers.push_back(std::move(condition));
        }
    }

    void quotas() {
        const auto lists = name_lists(settings_);
        const bool several = !settings_.lists.empty();
        const std::string_view field = several ? "quotas" : "quota";
        if (lists.empty() && settings_.preset.empty()) {
            fail("quota", 0, "a route names its quota");
        }
        if (lists.size() > kMaxNameLists) {
            return fail("quotas", 0, "at most " + std::to_string(kMaxNameLists) + " lists");
        }
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const std::string list = several ? indexed(field, i) : std::string(field);
            for (std::size_t j = 0; j < lists[i].size(); ++j) {
                quota(indexed(list, j), lists[i][j]);
            }
            route_.list_ends.push_back(route_.quotas.size());
        }
        if (route_.quotas.size() > kMaxQuotaNames) {
            fail(std::string(field), 0, "at most " + std::to_string(kMaxQuotaNames) + " names");
        }
    }

    void quota(std::string field, const std::string& text) {
        auto compiled = NameTemplate::compile(text, captures_);
        if (const auto* failure = std::get_if<PatternError>(&compiled)) {
            fail(std::move(field), failure->column, failure->message, failure->suggestion);
        } else {
            route_.quotas.push_back(std::move(std::get<NameTemplate>(compiled)));
        }
    }

    void measure_names() {
        std::vector<std::size_t> used;
        for (const auto& quota : route_.quotas) {
            const auto own = quota.captures();
            used.insert(used.end(), own.begin(), own.end());
            route_.max_names_size += quota.max_size();
        }
        std::sort(used.begin(), used.end());
        used.erase(std::unique(used.begin(), used.end()), used.end());
        route_.sources = captures_.sources();
        for (const std::size_t capture : used) {
            const auto source = std::find_if(
                route_.sources.begin(), route_.sources.end(),
                [capture](const NumberedSource& one) { return one.capture == capture; });
            if (source == route_.sources.end()) {
                route_.captures.push_back(capture);
            } else {
                route_.used_sources.push_back(
                    static_cast<std::size_t>(source - route_.sources.begin()));
            }
        }
    }

    void weight() {
        const auto& weight = settings_.weight;
        if (!is_weight(weight.constant)) {
            fail("weight", 0, "a weight is finite and not negative");
        }
        if (weight.source == WeightSource::header && !is_token(weight.header)) {
            fail("weight", 0, "not a header name: \"" + weight.header + "\"");
        }
        for (const auto& [operation, value] : weight.table) {
            if (!is_weight(value)) {
                fail("weight." + operation, 0, "a weight is finite and not negative");
            }
            if (route_.s3) {
                known_operation(operation);
            }
        }
        route_.weight = WeightRule(weight, all_.max_weight);
    }

    static bool is_weight(double value) { return std::isfinite(value) && value >= 0; }

    void known_operation(const std::string& operation) {
        std::vector<std::string_view> known;
        for (const auto& entry : s3_operations()) {
            known.emplace_back(entry.name);
        }
        if (std::find(known.begin(), known.end(), operation) != known.end()) {
            return;
        }
        fail("weight." + operation, 0, "S3 has no operation \"" + operation + "\"",
             std::string(closest(operation, known)));
    }

    const RoutingSettings& all_;
    const RouteSettings& settings_;
    std::size_t index_;
    std::vector<RouteError>& errors_;
    RouteCaptures captures_;
    CompiledRoute route_;
};

}  // namespace

void MethodSet::add(std::string_view method) {
    const auto known = http::method_of(method);
    if (known != http::Method::other) {
        known_ |= 1U << static_cast<unsigned>(known);
    } else {
        others_.emplace_back(method);
    }
}

bool MethodSet::contains_other(std::string_view method) const {
    return std::find(others_.begin(), others_.end(), method) != others_.end();
}

std::variant<std::unique_ptr<CompiledRoutes>, std::vector<RouteError>> compile_routes(
    const RoutingSettings& settings) {
    auto compiled = std::make_unique<CompiledRoutes>();
    compiled->rules = {settings.resolve_dot_segments, settings.merge_slashes};
    std::vector<RouteError> errors;
    for (std::size_t i = 0; i < settings.routes.size(); ++i) {
        compiled->routes.push_back(RouteCompiler(settings, i, errors).compile());
    }
    if (!errors.empty()) {
        return errors;
    }
    for (const auto& route : compiled->routes) {
        compiled->any_path = compiled->any_path || route.path.has_value();
        compiled->any_host = compiled->any_host || !route.hosts.empty() || !route.domains.empty();
    }
    compiled->index.build(compiled->routes);
    return compiled;
}

}  // namespace weir::routing
