#include "limiter/name_pattern.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/characters.h"

namespace weir::limiter {
namespace {

bool is_capture_name(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return is_alphanumeric(c) || c == '_' || c == '-';
    });
}

Result<NameSegment> parse_segment(std::string_view text) {
    const std::size_t open = text.find('{');
    const std::size_t close = text.find('}');
    NameSegment segment;
    if (open == std::string_view::npos && close == std::string_view::npos) {
        segment.prefix = text;
        return segment;
    }
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return error(ErrorCode::invalid_argument, "unbalanced braces");
    }
    const std::string_view rest = text.substr(close + 1);
    if (rest.find_first_of("{}") != std::string_view::npos) {
        return error(ErrorCode::invalid_argument, "more than one capture between two slashes");
    }
    constexpr std::string_view kCatchAll = "**";
    std::string_view name = text.substr(open + 1, close - open - 1);
    segment.catch_all = name.ends_with(kCatchAll);
    name.remove_suffix(segment.catch_all ? kCatchAll.size() : 0);
    if (segment.catch_all && (open != 0 || !rest.empty())) {
        return error(ErrorCode::invalid_argument,
                     "a catch-all like {rest**} stands alone behind the last slash");
    }
    if (!is_capture_name(name)) {
        return error(ErrorCode::invalid_argument,
                     "a capture's name has letters, digits, '_' and '-' only");
    }
    segment.prefix = text.substr(0, open);
    segment.capture = name;
    segment.suffix = rest;
    segment.literal = false;
    return segment;
}

}  // namespace

std::optional<std::string_view> NameSegment::match(std::string_view text) const {
    if (literal) {
        return text == prefix ? std::optional(std::string_view()) : std::nullopt;
    }
    if (text.size() <= literal_bytes() || !text.starts_with(prefix) || !text.ends_with(suffix)) {
        return std::nullopt;
    }
    return text.substr(prefix.size(), text.size() - literal_bytes());
}

Result<NamePattern> NamePattern::parse(std::string_view text) {
    NamePattern pattern;
    std::string_view segment;
    bool more = true;
    while (more) {
        more = next_segment(text, segment);
        Result<NameSegment> parsed = parse_segment(segment);
        if (!parsed) {
            return parsed.error();
        }
        if (parsed->catch_all && more) {
            return error(ErrorCode::invalid_argument,
                         "a catch-all like {rest**} stands at the end of the name");
        }
        pattern.segments_.push_back(std::move(*parsed));
    }
    WEIR_ASSERT(!pattern.segments_.empty());
    std::vector<std::string_view> names = pattern.capture_names();
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
        return error(ErrorCode::invalid_argument, "two captures of one name");
    }
    return pattern;
}

bool NamePattern::has_captures() const {
    return std::any_of(segments_.begin(), segments_.end(),
                       [](const NameSegment& segment) { return !segment.literal; });
}

std::vector<std::string_view> NamePattern::capture_names() const {
    std::vector<std::string_view> names;
    for (const NameSegment& segment : segments_) {
        if (!segment.literal) {
            names.emplace_back(segment.capture);
        }
    }
    return names;
}

std::optional<NamedCaptures> NamePattern::match(std::string_view name) const {
    NamedCaptures captures;
    bool more = true;
    for (const NameSegment& segment : segments_) {
        if (!more) {
            return std::nullopt;
        }
        std::string_view text;
        if (segment.catch_all) {
            text = std::exchange(name, {});
            more = false;
        } else {
            more = next_segment(name, text);
        }
        const auto value = segment.match(text);
        if (!value) {
            return std::nullopt;
        }
        if (!segment.literal) {
            captures.emplace_back(segment.capture, *value);
        }
    }
    return more ? std::nullopt : std::optional(std::move(captures));
}

std::string NamePattern::expand(const NamedCaptures& captures) const {
    std::string name;
    for (const NameSegment& segment : segments_) {
        if (&segment != &segments_.front()) {
            name += '/';
        }
        name += segment.prefix;
        if (segment.literal) {
            continue;
        }
        for (const auto& [capture, value] : captures) {
            if (capture == segment.capture) {
                name += value;
            }
        }
        name += segment.suffix;
    }
    return name;
}

}  // namespace weir::limiter
