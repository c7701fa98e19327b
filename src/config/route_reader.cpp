#include "config/route_reader.h"

#include <array>

#include "base/closest.h"
#include "config/reader.h"
#include "config/values.h"
#include "routing/router.h"

namespace weir::config {
namespace {

using routing::RouteSettings;
using routing::WeightSettings;
using routing::WeightSource;

constexpr double kMostWeight = 1e15;
constexpr std::string_view kHeaderSource = "header:";

void add_text(NodeRef node, std::vector<std::string>& texts, Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    if (text && text->empty()) {
        diagnostics.error(node, "must not be empty");
    } else if (text) {
        texts.emplace_back(*text);
    }
}

/// Reads one text or a list of texts.
std::vector<std::string> read_texts(std::optional<NodeRef> node, Diagnostics& diagnostics) {
    std::vector<std::string> texts;
    if (!node) {
        return texts;
    }
    if ((*node)->kind != NodeKind::list) {
        add_text(*node, texts, diagnostics);
        return texts;
    }
    for (const NodeRef element : node->children()) {
        add_text(element, texts, diagnostics);
    }
    if (texts.empty() && node->children().empty()) {
        diagnostics.error(*node, "must not be empty");
    }
    return texts;
}

/// Reads a map from field names to values. For a name without value the field must only be present.
std::vector<routing::HeaderMatch> read_header_matches(NodeRef map, Diagnostics& diagnostics) {
    std::vector<routing::HeaderMatch> matches;
    if (map->kind != NodeKind::map) {
        diagnostics.error(
            map, "must be a map of names and values, is " + std::string(describe(map->kind)));
        return matches;
    }
    for (const NodeRef member : map.children()) {
        routing::HeaderMatch match;
        match.name = std::string(member->key);
        match.exact = member->kind != NodeKind::null;
        if (match.exact) {
            match.value = std::string(read_text(member, diagnostics).value_or(""));
        }
        matches.push_back(std::move(match));
    }
    return matches;
}

constexpr std::string_view kAdviceOnMatch = "conditions stand in 'match: {path: \"/a/**\"}'";
constexpr std::string_view kAdviceOnPath = "say a pattern: 'path: \"/a/{tenant}/**\"'";
constexpr std::string_view kAdviceOnLists =
    "'quota: [a, b]' takes the first that exists, 'quotas: [[a], [b]]' both";
constexpr std::string_view kAdviceOnQuota =
    "a route names quotas, and quota documents have their limits: 'quota: shop'";
constexpr std::array<KeyHint, 8> kRouteHints = {{{"path", kAdviceOnMatch},
                                                 {"host", kAdviceOnMatch},
                                                 {"methods", kAdviceOnMatch},
                                                 {"method", kAdviceOnMatch},
                                                 {"headers", kAdviceOnMatch},
                                                 {"limit", kAdviceOnQuota},
                                                 {"limits", kAdviceOnQuota},
                                                 {"rate", kAdviceOnQuota}}};
constexpr std::array<KeyHint, 3> kMatchHints = {
    {{"prefix", kAdviceOnPath}, {"regex", kAdviceOnPath}, {"uri", kAdviceOnPath}}};

/// Reads lists of names, of each of which one applies.
std::vector<std::vector<std::string>> read_lists(NodeRef node, Diagnostics& diagnostics) {
    std::vector<std::vector<std::string>> lists;
    const std::vector<NodeRef> elements = read_list(node, diagnostics);
    if (node->kind == NodeKind::list && elements.empty()) {
        diagnostics.error(node, "must not be empty");
    }
    for (const NodeRef element : elements) {
        if (element->kind != NodeKind::list) {
            diagnostics.error(element, "must be a list of names", kAdviceOnLists);
        }
        lists.push_back(read_texts(element, diagnostics));
    }
    return lists;
}

routing::MatchSettings read_match(NodeRef node, Diagnostics& diagnostics) {
    routing::MatchSettings match;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return match;
    }
    match.hosts = read_texts(reader.take("host"), diagnostics);
    if (const auto path = reader.take("path")) {
        match.path = std::string(read_text(*path, diagnostics).value_or(""));
    }
    match.methods = read_texts(reader.take("methods"), diagnostics);
    if (const auto headers = reader.take("headers")) {
        match.headers = read_header_matches(*headers, diagnostics);
    }
    reader.finish(kMatchHints);
    return match;
}

void read_weight_table(NodeRef node, WeightSettings& weight, Diagnostics& diagnostics) {
    weight.source = WeightSource::table;
    for (const NodeRef member : node.children()) {
        const auto value = read_number(member, 0, kMostWeight, diagnostics);
        if (!value) {
            continue;
        }
        if (member->key == "default") {
            weight.constant = *value;
        } else {
            weight.table.emplace_back(std::string(member->key), *value);
        }
    }
}

WeightSettings read_weight(NodeRef node, Diagnostics& diagnostics) {
    WeightSettings weight;
    if (node->kind == NodeKind::map) {
        read_weight_table(node, weight, diagnostics);
        return weight;
    }
    const auto text = read_text(node, diagnostics);
    if (!text) {
        return weight;
    }
    if (*text == "request-bytes") {
        weight.source = WeightSource::request_bytes;
    } else if (text->substr(0, kHeaderSource.size()) == kHeaderSource) {
        weight.source = WeightSource::header;
        weight.header = std::string(text->substr(kHeaderSource.size()));
    } else if (parse_number(*text)) {
        weight.constant = read_number(node, 0, kMostWeight, diagnostics).value_or(1);
    } else {
        diagnostics.error(node,
                          "must be a number, request-bytes, header:<name> or a table like "
                          "{ListObjectsV2: 10, default: 1}",
                          closest(*text, std::array{std::string_view("request-bytes")}));
    }
    return weight;
}

/// Reads one status or a list of them. An empty list overrides the general setting.
std::vector<routing::StatusRange> read_statuses(NodeRef node, Diagnostics& diagnostics) {
    std::vector<routing::StatusRange> ranges;
    const std::vector<NodeRef> elements =
        node->kind == NodeKind::list ? read_list(node, diagnostics) : std::vector{node};
    for (const NodeRef element : elements) {
        if (const auto range = read_parsed(element, &parse_status_range, diagnostics)) {
            ranges.push_back(*range);
        }
    }
    return ranges;
}

RouteSettings read_route(NodeRef node, Diagnostics& diagnostics) {
    RouteSettings route;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return route;
    }
    if (const auto preset = reader.take("preset")) {
        if (read_word(*preset, {"s3"}, diagnostics)) {
            route.preset = "s3";
        }
    }
    route.domains = read_texts(reader.take("domain"), diagnostics);
    if (const auto match = reader.take("match")) {
        route.match = read_match(*match, diagnostics);
    }
    const auto quota = reader.take("quota");
    route.quotas = read_texts(quota, diagnostics);
    if (const auto quotas = reader.take("quotas")) {
        route.lists = read_lists(*quotas, diagnostics);
        if (quota) {
            diagnostics.error_at_key(*quotas, "a route has 'quota' or 'quotas', not both",
                                     "put the names of 'quota' into 'quotas' as one more list");
        }
    }
    if (const auto weight = reader.take("weight")) {
        route.weight = read_weight(*weight, diagnostics);
    }
    if (const auto refund = reader.take("refund")) {
        route.refund = read_statuses(*refund, diagnostics);
    }
    if (const auto ambiguous = reader.take("ambiguous_path")) {
        route.allow_ambiguous_path = read_word(*ambiguous, {"refuse", "allow"}, diagnostics) == 1U;
    }
    reader.finish(kRouteHints);
    return route;
}

/// A field's name in the router's errors, and its name in the file.
struct FieldName {
    std::string_view router;
    std::string_view file;
};
constexpr std::array<FieldName, 5> kFieldNames = {{{"match.hosts", "match.host"},
                                                   {"domains", "domain"},
                                                   {"weight.table", "weight"},
                                                   {"weight.header", "weight"},
                                                   {"weight.constant", "weight"}}};

std::string file_field(const std::string& field) {
    for (const FieldName& name : kFieldNames) {
        if (field.substr(0, name.router.size()) == name.router) {
            return std::string(name.file) + field.substr(name.router.size());
        }
    }
    return field;
}

/// Whether the error is there whatever else the route has: one of a path, or of a host if all of
/// the hosts could be read, so that they have their numbers of the file.
bool is_of_a_pattern(const routing::RouteError& error, const RouteSettings& route, NodeRef node) {
    if (error.field.starts_with("match.path")) {
        return true;
    }
    const NodeRef hosts = find_field(node, "match.host");
    const std::size_t written = hosts->kind == NodeKind::list ? hosts.children().size() : 1;
    return error.field.starts_with("match.hosts") && route.match.hosts.size() == written;
}

void report(const routing::RouteError& error, NodeRef list, Diagnostics& diagnostics) {
    const NodeRef route = find_field(list, "[" + std::to_string(error.route) + "]");
    const NodeRef at = find_field(route, file_field(error.field));
    TextPlace place = at->place;
    if (error.column != 0 && at.is_scalar() && place.line != 0) {
        const std::uint32_t quote = at->kind == NodeKind::quoted ? 1 : 0;
        place.column += static_cast<std::uint32_t>(error.column) - 1 + quote;
    }
    diagnostics.add(
        {Severity::error, at.document().file(), place, at.path(), error.message, error.suggestion});
}

}  // namespace

ReadRoutes read_routes(NodeRef list, Diagnostics& diagnostics) {
    ReadRoutes read;
    for (const NodeRef element : read_list(list, diagnostics)) {
        const std::size_t errors = diagnostics.error_count();
        read.routes.push_back(read_route(element, diagnostics));
        read.bad.push_back(diagnostics.error_count() != errors);
    }
    return read;
}

void check_routes(const routing::RoutingSettings& settings, NodeRef list,
                  const std::vector<bool>& bad, Diagnostics& diagnostics) {
    const routing::Router::Compiled compiled = routing::Router::compile(settings);
    if (const auto* errors = std::get_if<std::vector<routing::RouteError>>(&compiled)) {
        for (const routing::RouteError& error : *errors) {
            const NodeRef route = find_field(list, "[" + std::to_string(error.route) + "]");
            if (!bad[error.route] || is_of_a_pattern(error, settings.routes[error.route], route)) {
                report(error, list, diagnostics);
            }
        }
    }
}

}  // namespace weir::config
