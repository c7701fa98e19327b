#include "config/reader.h"

#include <algorithm>
#include <charconv>

#include "base/closest.h"
#include "config/values.h"

namespace weir::config {
namespace {

std::string list_words(const std::vector<std::string_view>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

/// The word that a truth value may stand for: tools for YAML 1.1 write the word "off" as false and
/// "on" as true.
std::string_view word_behind_boolean(std::string_view text) {
    return text == "false" ? "off" : text == "true" ? "on" : std::string_view{};
}

template <class T, class Format>
std::optional<T> within(NodeRef node, T value, T least, T most, Format format,
                        Diagnostics& diagnostics) {
    if (value >= least && value <= most) {
        return value;
    }
    diagnostics.error(node, "must be from " + format(least) + " to " + format(most));
    return std::nullopt;
}

}  // namespace

std::string_view describe(NodeKind kind) {
    switch (kind) {
        case NodeKind::null:
            return "nothing";
        case NodeKind::plain:
        case NodeKind::quoted:
            return "a single value";
        case NodeKind::list:
            return "a list";
        case NodeKind::map:
            return "a map";
    }
    return "?";
}

namespace {

/// Removes the first step from a path and returns it: of "limits[0].low" first "limits", then
/// "[0]", then "low".
std::string_view cut_step(std::string_view& path) {
    const std::size_t end = std::min(path.find_first_of(".[", 1), path.size());
    std::string_view step = path.substr(0, end);
    path.remove_prefix(end);
    if (step.substr(0, 1) == ".") {
        step.remove_prefix(1);
    }
    return step;
}

std::optional<NodeRef> find_child(NodeRef parent, std::string_view step) {
    const std::vector<NodeRef> children = parent.children();
    if (parent->kind == NodeKind::list) {
        std::size_t position = 0;
        const bool is_number =
            step.starts_with('[') &&
            std::from_chars(step.data() + 1, step.data() + step.size(), position).ec == std::errc();
        return is_number && position < children.size() ? std::optional(children[position])
                                                       : std::nullopt;
    }
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&](NodeRef each) { return each->key == step; });
    return child == children.end() ? std::nullopt : std::optional(*child);
}

}  // namespace

NodeRef find_field(NodeRef from, std::string_view path) {
    NodeRef at = from;
    while (!path.empty()) {
        const auto child = find_child(at, cut_step(path));
        if (!child) {
            break;
        }
        at = *child;
    }
    return at;
}

std::optional<std::string_view> read_text(NodeRef node, Diagnostics& diagnostics) {
    if (!node.is_scalar()) {
        diagnostics.error(node, "must be a single value, is " + std::string(describe(node->kind)));
        return std::nullopt;
    }
    return node->text;
}

std::optional<bool> read_boolean(NodeRef node, Diagnostics& diagnostics) {
    return read_parsed(node, &parse_boolean, diagnostics);
}

std::optional<std::uint64_t> read_unsigned(NodeRef node, std::uint64_t least, std::uint64_t most,
                                           Diagnostics& diagnostics) {
    const auto value = read_parsed(node, &parse_unsigned, diagnostics);
    if (!value) {
        return std::nullopt;
    }
    const auto format = [](std::uint64_t number) { return std::to_string(number); };
    return within(node, *value, least, most, format, diagnostics);
}

std::optional<double> read_number(NodeRef node, double least, double most,
                                  Diagnostics& diagnostics) {
    const auto value = read_parsed(node, &parse_number, diagnostics);
    if (!value) {
        return std::nullopt;
    }
    const auto format = [](double number) {
        return std::to_string(static_cast<std::uint64_t>(number));
    };
    return within(node, *value, least, most, format, diagnostics);
}

std::optional<Duration> read_duration(NodeRef node, Duration least, Duration most,
                                      Diagnostics& diagnostics) {
    const auto value = read_parsed(node, &parse_duration, diagnostics);
    return value ? within(node, *value, least, most, format_duration, diagnostics) : std::nullopt;
}

std::optional<std::uint64_t> read_size(NodeRef node, std::uint64_t least, std::uint64_t most,
                                       Diagnostics& diagnostics) {
    const auto value = read_parsed(node, &parse_size, diagnostics);
    return value ? within(node, *value, least, most, format_size, diagnostics) : std::nullopt;
}

std::optional<std::size_t> read_word(NodeRef node, const std::vector<std::string_view>& words,
                                     Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    if (!text) {
        return std::nullopt;
    }
    const auto find = [&](std::string_view word) {
        return std::find(words.begin(), words.end(), word);
    };
    if (const auto found = find(*text); found != words.end()) {
        return static_cast<std::size_t>(found - words.begin());
    }
    const std::string what =
        "'" + std::string(text->substr(0, 80)) + "' must be " + list_words(words);
    if (find(word_behind_boolean(*text)) != words.end()) {
        diagnostics.error(
            node, what + " (in quotes: some YAML tools turn on and off into true and false)",
            word_behind_boolean(*text));
        return std::nullopt;
    }
    diagnostics.error(node, what, diagnostics.full() ? "" : closest(*text, words));
    return std::nullopt;
}

MapReader::MapReader(NodeRef map, Diagnostics& diagnostics)
    : map_(map), diagnostics_(diagnostics), is_map_(map->kind == NodeKind::map) {
    if (is_map_) {
        constexpr std::size_t kUsualFields = 24;
        known_.reserve(kUsualFields);
        members_ = map.children();
    } else if (diagnostics.full()) {
        diagnostics.count_errors(1);
    } else {
        diagnostics.error(map, "must be a map, is " + std::string(describe(map->kind)));
    }
}

std::optional<NodeRef> MapReader::take(std::string_view key) {
    known_.push_back(key);
    for (const NodeRef member : members_) {
        if (member->key == key) {
            return member;
        }
    }
    return std::nullopt;
}

std::optional<NodeRef> MapReader::require(std::string_view key) {
    const auto member = take(key);
    if (!member && is_map_) {
        if (diagnostics_.full()) {
            diagnostics_.count_errors(1);
        } else {
            diagnostics_.error(map_, "'" + std::string(key) + "' is missing");
        }
    }
    return member;
}

bool MapReader::refuse_later(std::string_view key) {
    const auto member = take(key);
    if (member) {
        diagnostics_.error_at_key(*member, "not in this version", {});
    }
    known_.pop_back();
    later_.push_back(key);
    return member.has_value();
}

void MapReader::finish(std::span<const KeyHint> hints) {
    const auto suggest = [&](std::string_view key) {
        std::vector<std::string_view> names = known_;
        std::transform(hints.begin(), hints.end(), std::back_inserter(names),
                       [](const KeyHint& one) { return one.key; });
        const std::string_view name = closest(key, names);
        const auto hint = std::find_if(hints.begin(), hints.end(),
                                       [&](const KeyHint& one) { return one.key == name; });
        return hint == hints.end() ? name : hint->advice;
    };
    for (const NodeRef member : members_) {
        const auto is_in = [&](const std::vector<std::string_view>& keys) {
            return std::find(keys.begin(), keys.end(), member->key) != keys.end();
        };
        if (!is_in(known_) && !is_in(later_)) {
            diagnostics_.error_at_key(member, "unknown field",
                                      diagnostics_.full() ? "" : suggest(member->key));
        }
    }
}

std::vector<NodeRef> read_list(NodeRef node, Diagnostics& diagnostics) {
    if (node->kind != NodeKind::list) {
        diagnostics.error(node, "must be a list, is " + std::string(describe(node->kind)));
        return {};
    }
    return node.children();
}

}  // namespace weir::config
