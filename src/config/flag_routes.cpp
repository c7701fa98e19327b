#include "config/flag_routes.h"

#include <algorithm>
#include <string>

#include "config/tree_builder.h"

namespace weir::config {
namespace {

/// Adds a list of the texts between the separators.
bool add_list(TreeBuilder& builder, std::string_view texts, char separator) {
    bool good = builder.open(NodeKind::list, TextPlace{});
    while (good && !texts.empty()) {
        const std::size_t end = std::min(texts.find(separator), texts.size());
        good = builder.scalar(NodeKind::quoted, texts.substr(0, end), TextPlace{});
        texts.remove_prefix(std::min(end + 1, texts.size()));
    }
    return good && builder.close();
}

bool add_route(TreeBuilder& builder, std::string_view path, std::string_view quotas) {
    return builder.open(NodeKind::map, TextPlace{}) && builder.key("match", TextPlace{}) &&
           builder.open(NodeKind::map, TextPlace{}) && builder.key("path", TextPlace{}) &&
           builder.scalar(NodeKind::quoted, path, TextPlace{}) && builder.close() &&
           builder.key("quota", TextPlace{}) && add_list(builder, quotas, ',') && builder.close();
}

}  // namespace

std::optional<Document> flag_routes(const Override& given, Diagnostics& diagnostics) {
    static const ParseLimits limits;
    TreeBuilder builder(given.source, limits, diagnostics);
    bool good = builder.open(NodeKind::map, TextPlace{}) && builder.key(kRoutesKey, TextPlace{}) &&
                builder.open(NodeKind::list, TextPlace{});
    std::string_view rest = given.text.empty() ? "\n" : std::string_view(given.text);
    while (good && !rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view route = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t equals = route.find('=');
        if (equals == 0 || equals == route.npos || equals + 1 == route.size()) {
            diagnostics.add({Severity::error,
                             given.source,
                             {},
                             {},
                             "'" + std::string(route.substr(0, 200)) +
                                 "' must be a path pattern, '=' and the name of a quota, like "
                                 "'/{tenant}/**=shop/{tenant}'",
                             {}});
            return std::nullopt;
        }
        good = add_route(builder, route.substr(0, equals), route.substr(equals + 1));
    }
    good = good && builder.close() && builder.close();
    return good ? std::optional(builder.take()) : std::nullopt;
}

}  // namespace weir::config
