#include "routing/normal_path.h"

#include <algorithm>
#include <span>

#include "routing/escapes.h"

namespace weir::routing {
namespace {

bool is_dot_segment(std::string_view segment) { return segment == "." || segment == ".."; }

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::string_view explanation(Ambiguity ambiguity) {
    switch (ambiguity) {
        case Ambiguity::bad_escape:
            return "The path holds a malformed escape or an escaped control byte.";
        case Ambiguity::escaped_dot_segment:
            return "The path holds an escaped dot segment.";
        case Ambiguity::escaped_backslash:
            return "The path holds an escaped backslash.";
        case Ambiguity::above_root:
            return "The path climbs above its root.";
        case Ambiguity::none:
            break;
    }
    return "";
}

void NormalPath::begin() {
    text_.clear();
    segments_.clear();
    ambiguity_ = Ambiguity::none;
    escaped_slash_ = false;
    rooted_ = false;
}

void NormalPath::found(Ambiguity ambiguity) {
    if (ambiguity_ == Ambiguity::none) {
        ambiguity_ = ambiguity;
    }
}

void NormalPath::build(std::string_view raw, PathRules rules) {
    begin();
    split(raw, rules, true);
}

void NormalPath::build_decoded_first(std::string_view raw, PathRules rules) {
    begin();
    decoded_.clear();
    append_decoded(decoded_, raw);
    for (char& c : decoded_) {
        if (c == '\\') {
            c = '/';
        }
    }
    split(decoded_, rules, false);
}

void NormalPath::split(std::string_view raw, PathRules rules, bool decode) {
    if (!raw.starts_with('/')) {
        return;
    }
    rooted_ = true;
    decode = decode && raw.find('%') != std::string_view::npos;
    if (!decode) {
        text_ = raw;
    }
    for (std::size_t begin = 1; begin <= raw.size();) {
        const auto end = std::min(raw.find('/', begin), raw.size());
        const bool last = end == raw.size();
        if (begin < end || (!last && !rules.merge_slashes)) {
            add(raw.substr(begin, end - begin), begin, rules, decode);
        }
        begin = end + 1;
    }
}

/// Adds a segment; `offset` is its place in the path.
void NormalPath::add(std::string_view raw, std::size_t offset, PathRules rules, bool decode) {
    if (rules.resolve_dot_segments && is_dot_segment(raw)) {
        if (raw == ".") {
            return;
        }
        if (segments_.empty()) {
            return found(Ambiguity::above_root);
        }
        if (decode) {
            text_.resize(segments_.back().begin);
        }
        segments_.pop_back();
        return;
    }
    if (!decode) {
        segments_.push_back(
            {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(raw.size()), false});
        return;
    }
    segments_.push_back({static_cast<std::uint32_t>(text_.size()), 0, false});
    decode_segment(raw);
    auto& segment = segments_.back();
    segment.size = static_cast<std::uint32_t>(text_.size() - segment.begin);
    if (segment.size != raw.size()) {
        look_for_hidden_dots((*this)[segments_.size() - 1]);
    }
}

void NormalPath::decode_segment(std::string_view raw) {
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '%') {
            text_ += raw[i];
            continue;
        }
        const auto decoded = decode_escape(raw.substr(i));
        const char c = decoded.value_or('%');
        text_ += c;
        i += decoded ? 2U : 0U;
        if (!decoded || is_control(c)) {
            found(Ambiguity::bad_escape);
        }
        if (c == '\\') {
            found(Ambiguity::escaped_backslash);
        }
        if (c == '/') {
            segments_.back().escaped_slash = escaped_slash_ = true;
        }
    }
}

/// Looks for dot segments in a segment that was written with escapes and may hold slashes.
void NormalPath::look_for_hidden_dots(std::string_view segment) {
    for (;;) {
        const auto slash = segment.find('/');
        if (is_dot_segment(segment.substr(0, slash))) {
            found(Ambiguity::escaped_dot_segment);
        }
        if (slash == std::string_view::npos) {
            return;
        }
        segment.remove_prefix(slash + 1);
    }
}

void append_normal_host(std::string& out, std::string_view host) {
    const auto bracket = host.rfind(']');
    const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    host = host.substr(0, colon);
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    const auto begin = out.size();
    out += host;
    for (char& c : std::span(out).subspan(begin)) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
}

}  // namespace weir::routing
