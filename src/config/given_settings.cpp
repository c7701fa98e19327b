#include "config/given_settings.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "config/settings_fields.h"

namespace weir::config {
namespace {

using Json = nlohmann::ordered_json;

/// The text as a number or a truth value if it is one, else as a text.
Json plain_value(std::string_view text) {
    Json value = Json::parse(text, nullptr, false);
    return value.is_number() || value.is_boolean() ? value : Json(text);
}

Json to_json(NodeRef node) {
    switch (node->kind) {
        case NodeKind::null:
            return nullptr;
        case NodeKind::plain:
            return plain_value(node->text);
        case NodeKind::quoted:
            return node->text;
        case NodeKind::list: {
            Json list = Json::array();
            for (const NodeRef child : node.children()) {
                list.push_back(to_json(child));
            }
            return list;
        }
        case NodeKind::map:
            break;
    }
    Json map = Json::object();
    for (const NodeRef child : node.children()) {
        map[std::string(child->key)] = to_json(child);
    }
    return map;
}

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const GivenSetting* find(const std::vector<GivenSetting>& given, std::string_view key) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const GivenSetting& one) { return one.key == key; });
    return found == given.end() ? nullptr : &*found;
}

}  // namespace

std::string json_text(NodeRef node) { return dump(to_json(node)); }

std::string describe_settings(const std::vector<GivenSetting>& given) {
    Json all = Json::object();
    const auto put = [&](std::string_view key, std::string_view otherwise) {
        const GivenSetting* one = find(given, key);
        all[std::string(key)] = {{"value", one ? Json::parse(one->json) : plain_value(otherwise)},
                                 {"source", one ? one->source : "default"}};
    };
    for (const SettingField& field : setting_fields()) {
        put(field.key, field.default_text);
    }
    put("routes", "none");
    return dump(all);
}

}  // namespace weir::config
