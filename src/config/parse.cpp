#include "config/parse.h"

#include <algorithm>
#include <optional>

#include "base/characters.h"
#include "config/parsers.h"

namespace weir::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kLongestCharacter = 4;  // in bytes of UTF-8

bool is_allowed_control(char c) { return c == '\t' || c == '\n' || c == '\r'; }

/// A byte that a text may not contain: where it is, and why it is not allowed.
struct BadByte {
    std::size_t offset;
    const char* what;
};

std::optional<BadByte> find_bad_byte(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if ((byte < 0x20 && !is_allowed_control(text[at])) || byte == 0x7f) {
            return BadByte{at, "a control character"};
        }
        const std::size_t length = character_length(text.substr(at));
        if (length == 0) {
            return BadByte{at, "not valid UTF-8"};
        }
        at += length;
    }
    return std::nullopt;
}

TextPlace place_at(std::string_view text, std::size_t offset) {
    TextPlace place{1, 1};
    for (const char c : text.substr(0, offset)) {
        place.line += c == '\n' ? 1 : 0;
        place.column = c == '\n' ? 1 : place.column + 1;
    }
    return place;
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Whether the text begins with a brace and then a quote. That is JSON, or YAML in flow style,
/// which the JSON parser either reads in the same way or refuses.
bool looks_like_json(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t brace = text.find_first_not_of(kBlanks);
    if (brace == std::string_view::npos || text[brace] != '{') {
        return false;
    }
    const std::size_t next = text.find_first_not_of(kBlanks, brace + 1);
    return next != std::string_view::npos && (text[next] == '"' || text[next] == '}');
}

bool too_large(std::string_view text, std::size_t limit, const std::string& file,
               std::string_view advice, Diagnostics& diagnostics) {
    if (text.size() <= limit) {
        return false;
    }
    diagnostics.add({Severity::error,
                     file,
                     {},
                     {},
                     "larger than " + std::to_string(limit) + " bytes" + std::string(advice),
                     {}});
    return true;
}

/// Refuses a YAML text that begins more values in flow style than `most`: yaml-cpp keeps everything
/// from a bracket to its end in memory before it tells of the first value.
bool too_many_values(std::string_view text, std::size_t most, const std::string& file,
                     Diagnostics& diagnostics) {
    std::size_t values = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        values += c == ',' || c == '[' || c == '{' ? 1 : 0;
        if (values > most) {
            diagnostics.add(
                {Severity::error, file, place_at(text, at), {}, too_many_nodes(most), {}});
            return true;
        }
    }
    return false;
}

}  // namespace

std::string too_many_nodes(std::size_t most) {
    const std::string text = "more than " + std::to_string(most) + " values in one document";
    return most <= kFewNodes || most == ParseLimits{}.nodes
               ? text
               : text + " (" + std::to_string(kFewNodes) + ", and one more for every " +
                     std::to_string(kBytesOfNode) + " bytes, are allowed)";
}

std::size_t values_allowed(std::size_t bytes, const ParseLimits& limits) {
    return std::min(limits.nodes, kFewNodes + bytes / kBytesOfNode);
}

bool is_json(std::string_view text, const std::string& file) {
    return ends_with(file, ".json") || looks_like_json(text);
}

bool has_bad_byte(std::string_view& part) {
    const auto bad = find_bad_byte(part);
    part.remove_prefix(bad ? bad->offset : part.size());
    const auto byte = bad ? static_cast<unsigned char>(part.front()) : 0U;
    const bool may_be_cut_off = part.size() < kLongestCharacter && byte >= 0xc2;
    return bad && !may_be_cut_off;
}

std::vector<Document> parse_documents(std::string_view text, const std::string& file,
                                      const ParseLimits& given, Diagnostics& diagnostics) {
    if (too_large(text, given.json_bytes, file, "", diagnostics)) {
        return {};
    }
    ParseLimits limits = given;
    limits.nodes = values_allowed(text.size(), given);
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
        text.remove_prefix(kByteOrderMark.size());
    }
    if (const auto bad = find_bad_byte(text)) {
        diagnostics.add({Severity::error, file, place_at(text, bad->offset), {}, bad->what, {}});
        return {};
    }
    if (ends_with(file, ".json")) {
        return parse_json(text, file, limits, diagnostics);
    }
    if (looks_like_json(text)) {
        Diagnostics as_json;
        std::vector<Document> documents = parse_json(text, file, limits, as_json);
        if (!as_json.has_errors()) {
            return documents;
        }
    }
    if (too_large(text, limits.yaml_bytes, file, " of YAML; write large sets as JSON",
                  diagnostics) ||
        too_many_values(text, limits.nodes, file, diagnostics)) {
        return {};
    }
    return parse_yaml(text, file, limits, diagnostics);
}

}  // namespace weir::config
