#include "routing/route_captures.h"

#include <algorithm>

#include "base/closest.h"

namespace weir::routing {
namespace {

std::string in_braces(const CaptureNames& names) {
    std::string list;
    for (const auto& name : names) {
        list += (list.empty() ? "{" : ", {") + name + "}";
    }
    return list.empty() ? "this route captures nothing" : "this route captures " + list;
}

}  // namespace

std::variant<std::size_t, PatternError> RouteCaptures::find(std::string_view text,
                                                            std::size_t column) {
    const auto known = std::find(names.begin(), names.end(), text);
    if (known != names.end()) {
        return static_cast<std::size_t>(known - names.begin());
    }
    auto source = CaptureSource::parse(text, column + 1);
    if (!source) {
        return unknown(text, column);
    }
    if (auto* failure = std::get_if<PatternError>(&*source)) {
        return std::move(*failure);
    }
    return add(text, column, std::move(std::get<CaptureSource>(*source)));
}

std::variant<std::size_t, PatternError> RouteCaptures::add(std::string_view name,
                                                           std::size_t column,
                                                           CaptureSource source) {
    if (names.size() == kMaxCaptures) {
        return PatternError{column, "too many captures; at most " + std::to_string(kMaxCaptures)};
    }
    names.emplace_back(name);
    sources_.push_back({names.size() - 1, std::move(source)});
    return names.size() - 1;
}

PatternError RouteCaptures::unknown(std::string_view text, std::size_t column) const {
    const std::vector<std::string_view> known(names.begin(), names.end());
    const auto meant = closest(text, known);
    return {column,
            "unknown capture {" + std::string(text) + "}; " + in_braces(names) +
                ", and each route may use " + CaptureSource::forms(),
            meant.empty() ? CaptureSource::suggest(text) : "{" + std::string(meant) + "}"};
}

std::variant<std::optional<std::size_t>, PatternError> RouteCaptures::add_field(
    std::string_view field, std::string_view value) {
    using Recognised = std::variant<std::optional<std::size_t>, PatternError>;
    const auto fail = [](std::size_t at, std::string message, std::string suggestion = {}) {
        return Recognised(PatternError{at + 1, std::move(message), std::move(suggestion)});
    };
    const auto open = value.find_first_of("{}");
    if (open == std::string_view::npos) {
        return std::nullopt;
    }
    const auto close = value.find('}', open);
    if (value[open] == '}') {
        return fail(open, "'}' without '{'");
    }
    if (close == std::string_view::npos) {
        return fail(open, "'{' without '}'");
    }
    if (const auto more = value.find_first_of("{}", close + 1); more != std::string_view::npos) {
        return fail(more, "only one capture in the value of a field");
    }
    constexpr std::string_view kReadable = ",readable";
    auto name = value.substr(open + 1, close - open - 1);
    const bool readable = name.ends_with(kReadable);
    name.remove_suffix(readable ? kReadable.size() : 0);
    if (!is_capture_name(name)) {
        return fail(open,
                    "{" + std::string(name) +
                        "} is no name of a capture, which has letters, digits, '_' and '-': it "
                        "captures the value of this field, and names of quotas use it",
                    "{key}");
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
        return fail(open, "{" + std::string(name) + "} is captured twice");
    }
    const SegmentPattern pattern{.prefix = std::string(value.substr(0, open)),
                                 .suffix = std::string(value.substr(close + 1)),
                                 .wildcard = true,
                                 .capture = {}};
    const auto added = add(name, open + 1, CaptureSource::of_field(field, pattern, readable));
    if (const auto* failure = std::get_if<PatternError>(&added)) {
        return *failure;
    }
    return sources_.size() - 1;
}

}  // namespace weir::routing
