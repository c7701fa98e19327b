#include "routing/normal_path.h"

#include <algorithm>
#include <span>

#include "base/characters.h"
#include "routing/escapes.h"

namespace weir::routing {
namespace {

bool is_dot_segment(std::string_view segment) { return segment == "." || segment == ".."; }

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

/// Whether this is a dot segment for somebody who drops control bytes.
bool reads_as_dot_segment(std::string_view text) {
    std::size_t dots = 0;
    for (const char c : text) {
        if (c != '.' && !is_control(c)) {
            return false;
        }
        dots += c == '.' ? 1U : 0U;
    }
    return dots == 1 || dots == 2;
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
        case Ambiguity::doubtful_climb:
            return "The path climbs out of a segment that can be read in several ways.";
        case Ambiguity::none:
            break;
    }
    return "";
}

std::string_view explanation(Doubt doubt) {
    switch (doubt) {
        case Doubt::escaped_slash:
            return "The path holds an escaped slash where it decides about the route.";
        case Doubt::backslash:
            return "The path holds a backslash where it decides about the route.";
        case Doubt::escaped_backslash:
            return "The path holds an escaped backslash where it decides about the route.";
        case Doubt::control_byte:
            return "The path holds an escaped control byte where it decides about the route.";
        case Doubt::several:
            return "The path mixes escaped slashes, backslashes, escaped backslashes or escaped "
                   "control bytes where they decide about the route.";
        case Doubt::none:
            break;
    }
    return "";
}

std::size_t NormalPath::before_doubts() const {
    const auto first = std::find_if(segments_.begin(), segments_.end(),
                                    [](const Segment& segment) { return segment.doubtful; });
    return static_cast<std::size_t>(first - segments_.begin());
}

void NormalPath::begin() {
    text_.clear();
    segments_.clear();
    ambiguity_ = Ambiguity::none;
    doubt_ = Doubt::none;
    rooted_ = false;
}

void NormalPath::found(Ambiguity ambiguity) {
    if (ambiguity_ == Ambiguity::none) {
        ambiguity_ = ambiguity;
    }
}

/// Marks the last segment.
void NormalPath::found(Doubt doubt) {
    segments_.back().doubtful = true;
    doubt_ = doubt_ == Doubt::none || doubt_ == doubt ? doubt : Doubt::several;
}

void NormalPath::build(std::string_view raw, PathRules rules) {
    begin();
    split(raw, rules, true);
}

void NormalPath::build_decoded_first(std::string_view raw, PathRules rules) {
    begin();
    decoded_.clear();
    append_decoded(decoded_, raw);
    std::erase_if(decoded_, is_control);
    std::replace(decoded_.begin(), decoded_.end(), '\\', '/');
    split(decoded_, rules, false);
}

void NormalPath::split(std::string_view raw, PathRules rules, bool decode) {
    if (!raw.starts_with('/')) {
        return;
    }
    rooted_ = true;
    decode = decode &&
             (raw.find('%') != std::string_view::npos || raw.find('\\') != std::string_view::npos);
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
        // For some programs this segment is two, or none, and ".." leads elsewhere.
        if (segments_.back().doubtful) {
            found(Ambiguity::doubtful_climb);
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
    if (segment.size != raw.size() || segment.doubtful) {
        look_for_hidden_dots((*this)[segments_.size() - 1]);
    }
}

void NormalPath::decode_segment(std::string_view raw) {
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '%') {
            text_ += raw[i];
            if (raw[i] == '\\') {
                found(Doubt::backslash);
            }
            continue;
        }
        const auto decoded = decode_escape(raw.substr(i));
        const char c = decoded.value_or('%');
        text_ += c;
        i += decoded ? 2U : 0U;
        if (!decoded || c == '\0') {
            found(Ambiguity::bad_escape);
        } else if (is_control(c)) {
            found(Doubt::control_byte);
        } else if (c == '\\') {
            found(Doubt::escaped_backslash);
        } else if (c == '/') {
            found(Doubt::escaped_slash);
        }
    }
}

/// Looks for dot segments in a segment that was written with escapes and may hold slashes,
/// backslashes and control bytes.
void NormalPath::look_for_hidden_dots(std::string_view segment) {
    for (;;) {
        const auto slash = segment.find_first_of("/\\");
        if (reads_as_dot_segment(segment.substr(0, slash))) {
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
        c = to_lower(c);
    }
}

}  // namespace weir::routing
