#include "routing/router.h"

#include <algorithm>
#include <set>
#include <utility>

#include "http/fields.h"
#include "http/request_head.h"
#include "routing/compiled_routes.h"
#include "routing/s3.h"

namespace weir::routing {
namespace {

constexpr std::size_t kMostRoutesLookedAt = 1000;

/// Finds the route of one request.
class Matcher {
  public:
    Matcher(const CompiledRoutes& compiled, const http::RequestHead& head, const Client& client,
            ScratchState& scratch)
        : compiled_(compiled), head_(head), client_(client), scratch_(scratch) {}

    RouteResult run() {
        if (compiled_.any_host) {
            scratch_.host.clear();
            append_normal_host(scratch_.host, head_.host());
        }
        if (compiled_.any_path) {
            scratch_.path.build(head_.path(), compiled_.rules);
        }
        const std::size_t found = first_match(scratch_.path);
        RouteResult result = found == RouteIndex::kNone ? unrouted() : routed(found);
        result.request_bytes = request_bytes();
        return result;
    }

  private:
    /// The first route that matches. Also fills in the captures and, for S3, the recognised
    /// request.
    std::size_t first_match(const NormalPath& path) {
        std::size_t filled = RouteIndex::kNone;
        const auto found = compiled_.index.first(scratch_.host, path, [&](std::size_t route) {
            filled = route;
            return matches(compiled_.routes[route], path);
        });
        // matches() may have been called for another route afterwards and have overwritten the
        // captures.
        if (found != filled && found != RouteIndex::kNone) {
            matches(compiled_.routes[found], path);
        }
        return found;
    }

    bool matches(const CompiledRoute& route, const NormalPath& path) {
        if (!matches_headers(route)) {
            return false;
        }
        return route.s3 ? matches_s3(route) : matches_pattern(route, path);
    }

    [[nodiscard]] bool matches_headers(const CompiledRoute& route) const {
        return std::all_of(route.headers.begin(), route.headers.end(), [&](const auto& wanted) {
            if (wanted.source) {
                return route.sources[*wanted.source].source.may_have_value(head_, client_);
            }
            const auto index = head_.fields().find(wanted.name);
            if (index == http::Fields::kNone || !believes(head_.fields()[index].id)) {
                return false;
            }
            return !wanted.value || head_.fields().value(index) == *wanted.value;
        });
    }

    /// What a client that is not trusted says of others decides about no route.
    [[nodiscard]] bool believes(http::FieldId field) const {
        return client_.trusted || (bit(field) & http::kForwardedClaims) == 0;
    }

    bool matches_s3(const CompiledRoute& route) {
        const auto request = recognise_s3(head_, scratch_.host, route.domains, scratch_.bucket);
        if (!request) {
            return false;
        }
        s3_ = *request;
        const bool known = s3_.operation != nullptr;
        scratch_.captures[kBucket] = s3_.bucket;
        scratch_.captures[kOperation] = known ? s3_.operation->name : std::string_view();
        scratch_.captures[kAccess] = s3_.read ? "read" : "write";
        return true;
    }

    bool matches_pattern(const CompiledRoute& route, const NormalPath& path) {
        if (!route.methods.contains(head_)) {
            return false;
        }
        return matches_host(route, scratch_.captures) &&
               (!route.path || route.path->match(path, scratch_.captures));
    }

    [[nodiscard]] bool matches_host(const CompiledRoute& route, Captures& captures) const {
        return route.hosts.empty() ||
               std::any_of(route.hosts.begin(), route.hosts.end(), [&](const HostPattern& pattern) {
                   return pattern.match(scratch_.host, captures);
               });
    }

    /// Whether what the route captures of fields has one value each. If the route did not match
    /// where one has two, a second field would be a way around it.
    bool has_captured_fields(const CompiledRoute& route) {
        return std::all_of(route.headers.begin(), route.headers.end(), [&](const auto& wanted) {
            return !wanted.source ||
                   route.sources[*wanted.source].source.has_value(head_, client_, scratch_.decoded);
        });
    }

    RouteResult routed(std::size_t index) {
        const auto& route = compiled_.routes[index];
        if (!has_captured_fields(route)) {
            return ambiguous(
                RouteOutcome::ambiguous_fields,
                "a request field that names the quota has several values, or one that programs "
                "read in different ways");
        }
        if (!route.allow_ambiguous_path) {
            const auto why = route.s3 ? ambiguity_of_s3(index) : ambiguity_of(index);
            if (!why.empty()) {
                return ambiguous(RouteOutcome::ambiguous_path, why);
            }
        }
        RouteResult result;
        result.outcome = RouteOutcome::routed;
        result.route = index;
        result.operation = !route.s3                  ? head_.method_text()
                           : s3_.operation != nullptr ? s3_.operation->name
                                                      : std::string_view();
        const auto weighed = route.weight.weigh(head_, result.operation, client_.trusted);
        result.weight = weighed.weight;
        result.weight_invalid = weighed.invalid;
        result.weight_clamped = weighed.clamped;
        result.weight_field = route.weight.field();
        result.weight_is_request_bytes = route.weight.is_request_bytes();
        write_names(route, result);
        return result;
    }

    /// The result when no route matches. If the path can be read in another way that does match a
    /// route, the request must not pass without a quota: that would be a way around it.
    RouteResult unrouted() {
        if (!compiled_.any_path) {
            return {};
        }
        if (scratch_.path.ambiguity() != Ambiguity::none) {
            return ambiguous(RouteOutcome::ambiguous_path, explanation(scratch_.path.ambiguity()));
        }
        const auto doubt = scratch_.path.doubt();
        const bool decides = doubt == Doubt::several
                                 ? !is_decided_before_doubts(RouteIndex::kNone)
                                 : doubt != Doubt::none && other_reading() != RouteIndex::kNone;
        return decides ? ambiguous(RouteOutcome::ambiguous_path, explanation(doubt))
                       : RouteResult{};
    }

    /// Why the path of a request that a route matches is ambiguous; empty if it is not.
    std::string_view ambiguity_of(std::size_t index) {
        const auto& path = scratch_.path;
        const auto& pattern = compiled_.routes[index].path;
        if (!compiled_.any_path) {
            return {};
        }
        if (path.ambiguity() != Ambiguity::none) {
            return explanation(path.ambiguity());
        }
        if (path.doubt() == Doubt::none) {
            return {};
        }
        if (path.doubt() == Doubt::several) {
            return is_decided_before_doubts(index) ? std::string_view() : explanation(path.doubt());
        }
        const std::size_t routed = pattern ? pattern->segments.size() : 0;
        for (std::size_t i = 0; i < routed; ++i) {
            if (path.is_doubtful(i)) {
                return explanation(path.doubt());
            }
        }
        const auto kept = scratch_.captures;
        const bool same = other_reading() == index && captures_equal(compiled_.routes[index], kept);
        scratch_.captures = kept;
        return same ? std::string_view() : explanation(path.doubt());
    }

    /// The same for the preset s3, which itself looks at the bucket only. An earlier route for some
    /// keys must not be avoided by another spelling of a key.
    std::string_view ambiguity_of_s3(std::size_t index) {
        const auto& path = scratch_.path;
        if (s3_.ambiguity != Ambiguity::none || !compiled_.any_path ||
            path.doubt() == Doubt::none) {
            return explanation(s3_.ambiguity);
        }
        const auto kept = scratch_.captures;
        // Of a path that is ambiguous besides, as by a ".." behind a doubt, nobody knows which
        // segments all readings have in common.
        const std::size_t common = path.ambiguity() == Ambiguity::none ? path.before_doubts() : 0;
        const bool decides = path.doubt() == Doubt::several ? !is_decided_before(common, index)
                                                            : other_reading() < index;
        scratch_.captures = kept;
        return decides ? explanation(path.doubt()) : std::string_view();
    }

    /// Whether all readings of a path with several doubts lead to the route that was found, or to
    /// none if none was found. They have the segments before the first doubt in common.
    [[nodiscard]] bool is_decided_before_doubts(std::size_t found) const {
        return is_decided_before(scratch_.path.before_doubts(), found);
    }

    /// The same where the first `common` segments are known, and anything may follow. Looks at
    /// every route before the one that was found; a client may send many such paths, so with more
    /// than kMostRoutesLookedAt of them the answer is no.
    [[nodiscard]] bool is_decided_before(std::size_t common, std::size_t found) const {
        const auto& routes = compiled_.routes;
        if (found != RouteIndex::kNone) {
            const auto& pattern = routes[found].path;
            if (pattern && (!pattern->open_end || pattern->segments.size() > common)) {
                return false;
            }
        }
        const std::size_t earlier = std::min(found, routes.size());
        if (earlier > kMostRoutesLookedAt) {
            return false;
        }
        const auto end = routes.begin() + static_cast<std::ptrdiff_t>(earlier);
        return std::none_of(routes.begin(), end, [&](const CompiledRoute& route) {
            return could_match_behind(route, common);
        });
    }

    /// Whether a route that does not match the path could match one with other segments behind
    /// these first ones. S3 recognises requests by the path as it came, which has one reading.
    [[nodiscard]] bool could_match_behind(const CompiledRoute& route, std::size_t common) const {
        if (route.s3 || !route.path || !route.methods.contains(head_)) {
            return false;
        }
        const auto& segments = route.path->segments;
        if (segments.size() < common && !route.path->open_end) {
            return false;
        }
        for (std::size_t i = 0; i < std::min(segments.size(), common); ++i) {
            if (!segments[i].fits(scratch_.path[i])) {
                return false;
            }
        }
        Captures ignored;
        return matches_headers(route) && matches_host(route, ignored);
    }

    /// Whether these captures give the quotas' names that the present ones give.
    [[nodiscard]] bool captures_equal(const CompiledRoute& route, const Captures& others) const {
        return std::all_of(route.captures.begin(), route.captures.end(),
                           [&](std::size_t i) { return scratch_.captures[i] == others[i]; });
    }

    std::size_t other_reading() {
        scratch_.decoded_first.build_decoded_first(head_.path(), compiled_.rules);
        return first_match(scratch_.decoded_first);
    }

    /// Makes each capture safe once, even if several names contain it.
    void make_safe(const CompiledRoute& route) {
        scratch_.escaped.clear();
        for (const std::size_t i : route.captures) {
            const auto value = scratch_.captures[i];
            scratch_.safe[i] = value;
            if (is_safe(value)) {
                continue;
            }
            const auto begin = scratch_.escaped.size();
            append_safe(scratch_.escaped, value);
            scratch_.safe[i] = std::string_view(scratch_.escaped).substr(begin);
        }
        for (const std::size_t i : route.used_sources) {
            const auto& [capture, source] = route.sources[i];
            const auto begin = scratch_.escaped.size();
            const bool found = source.append(scratch_.escaped, head_, client_, scratch_.decoded);
            scratch_.safe[capture] =
                found ? std::string_view(scratch_.escaped).substr(begin) : std::string_view();
        }
    }

    void write_names(const CompiledRoute& route, RouteResult& result) {
        make_safe(route);
        if (scratch_.names.size() < route.max_names_size) {
            scratch_.names.resize(route.max_names_size);
        }
        char* begin = scratch_.names.data();
        std::size_t count = 0;
        std::size_t quota = 0;
        for (std::size_t list = 0; list < route.list_ends.size(); ++list) {
            for (; quota < route.list_ends[list]; ++quota) {
                char* const end = route.quotas[quota].write(begin, scratch_.safe);
                if (end == nullptr) {
                    continue;
                }
                scratch_.name_views[count++] = {begin, static_cast<std::size_t>(end - begin)};
                begin = end;
            }
            scratch_.list_ends[list] = static_cast<std::uint8_t>(count);
        }
        result.names = {scratch_.name_views.data(), count};
        result.list_ends = {scratch_.list_ends.data(), route.list_ends.size()};
    }

    [[nodiscard]] std::optional<std::uint64_t> request_bytes() const {
        if (head_.body().kind == http::BodyKind::none) {
            return 0;
        }
        if (head_.body().kind == http::BodyKind::length) {
            return head_.body().length;
        }
        return std::nullopt;
    }

    static RouteResult ambiguous(RouteOutcome outcome, std::string_view why) {
        RouteResult result;
        result.outcome = outcome;
        result.explanation = why;
        return result;
    }

    const CompiledRoutes& compiled_;
    const http::RequestHead& head_;
    const Client& client_;
    ScratchState& scratch_;
    S3Request s3_;
};

}  // namespace

Scratch::Scratch() : state_(std::make_unique<ScratchState>()) {}
Scratch::~Scratch() = default;

Router::Router(std::unique_ptr<CompiledRoutes> routes) : routes_(std::move(routes)) {}
Router::~Router() = default;

Router::Compiled Router::compile(const RoutingSettings& settings) {
    auto compiled = compile_routes(settings);
    if (auto* errors = std::get_if<std::vector<RouteError>>(&compiled)) {
        return std::move(*errors);
    }
    auto& routes = std::get<std::unique_ptr<CompiledRoutes>>(compiled);
    return std::shared_ptr<const Router>(new Router(std::move(routes)));
}

RouteResult Router::route(const http::RequestHead& head, const Client& client,
                          Scratch& scratch) const {
    return Matcher(*routes_, head, client, scratch.state()).run();
}

std::vector<std::string> Router::fields_read() const {
    std::set<std::string> names;
    for (const auto& route : routes_->routes) {
        for (const auto& match : route.headers) {
            names.insert(match.name);
        }
        for (const auto& [capture, source] : route.sources) {
            names.emplace(source.field());
        }
        if (!route.weight.field().empty()) {
            names.emplace(route.weight.field());
        }
    }
    names.erase(std::string());
    return {names.begin(), names.end()};
}

bool Router::refunds(std::size_t route, unsigned status) const {
    if (route >= routes_->routes.size()) {
        return false;
    }
    const auto& ranges = routes_->routes[route].refund;
    return std::any_of(ranges.begin(), ranges.end(), [status](const StatusRange& range) {
        return status >= range.first && status <= range.last;
    });
}

}  // namespace weir::routing
