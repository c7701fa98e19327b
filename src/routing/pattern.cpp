#include "routing/pattern.h"

#include <algorithm>

#include "base/characters.h"
#include "routing/escapes.h"

namespace weir::routing {
namespace {

bool is_capture_character(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

/// Compiles one segment or label. The columns of its errors are those of the whole pattern.
class SegmentCompiler {
  public:
    SegmentCompiler(std::string_view text, std::size_t offset, CaptureNames& names)
        : text_(text), offset_(offset), names_(names) {}

    std::variant<SegmentPattern, PatternError> compile() {
        for (position_ = 0; position_ < text_.size() && !error_; ++position_) {
            character();
        }
        if (error_) {
            return *error_;
        }
        return pattern_;
    }

  private:
    void fail(std::string message) { error_ = {offset_ + position_ + 1, std::move(message)}; }

    void character() {
        const char c = text_[position_];
        if (c == '{') {
            return capture();
        }
        if (c == '*') {
            return wildcard();
        }
        if (c == '}') {
            return fail("'}' without '{'");
        }
        if (c == '?' || c == '#') {
            return fail("patterns match the path only, not the query");
        }
        const auto decoded = decode_escape(text_.substr(position_));
        if (c == '%' && !decoded) {
            return fail("'%' needs two hexadecimal digits");
        }
        literal() += decoded.value_or(c);
        position_ += decoded ? 2U : 0U;
    }

    std::string& literal() { return pattern_.wildcard ? pattern_.suffix : pattern_.prefix; }

    void wildcard() {
        if (text_.substr(position_).starts_with("**")) {
            return fail("'**' must stand alone, at the end of a path or the front of a host");
        }
        if (pattern_.wildcard) {
            return fail("only one '*' or capture between two separators");
        }
        pattern_.wildcard = true;
    }

    void capture() {
        if (pattern_.wildcard) {
            return fail("only one '*' or capture between two separators");
        }
        const auto end = text_.find('}', position_);
        if (end == std::string_view::npos) {
            return fail("'{' without '}'");
        }
        const auto name = text_.substr(position_ + 1, end - position_ - 1);
        if (!is_capture_name(name)) {
            return fail("a capture is named by letters, digits, '_' and '-', as in {tenant}");
        }
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
            return fail("{" + std::string(name) + "} is captured twice");
        }
        if (names_.size() == kMaxCaptures) {
            return fail("too many captures; at most " + std::to_string(kMaxCaptures));
        }
        pattern_.wildcard = true;
        pattern_.capture = names_.size();
        names_.emplace_back(name);
        position_ = end;
    }

    std::string_view text_;
    std::size_t offset_;
    CaptureNames& names_;
    std::size_t position_ = 0;
    SegmentPattern pattern_;
    std::optional<PatternError> error_;
};

}  // namespace

bool is_capture_name(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), is_capture_character);
}

bool SegmentPattern::match(std::string_view segment, Captures& captures) const {
    if (!fits(segment)) {
        return false;
    }
    if (capture) {
        captures[*capture] =
            segment.substr(prefix.size(), segment.size() - prefix.size() - suffix.size());
    }
    return true;
}

bool PathPattern::match(const NormalPath& path, Captures& captures) const {
    if (!path.is_rooted() || path.size() < segments.size()) {
        return false;
    }
    if (path.size() > segments.size() && !open_end) {
        return false;
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (!segments[i].match(path[i], captures)) {
            return false;
        }
    }
    return true;
}

/// Labels are matched from the back; an open front matches all that are left.
bool HostPattern::match(std::string_view host, Captures& captures) const {
    bool used_up = false;
    for (std::size_t i = labels.size(); i-- > 0;) {
        if (used_up) {
            return false;
        }
        const auto dot = host.rfind('.');
        used_up = dot == std::string_view::npos;
        if (!labels[i].match(used_up ? host : host.substr(dot + 1), captures)) {
            return false;
        }
        host = used_up ? std::string_view() : host.substr(0, dot);
    }
    return open_front ? !used_up && !host.empty() : used_up;
}

std::variant<PathPattern, PatternError> compile_path(std::string_view text, CaptureNames& names) {
    if (!text.starts_with('/')) {
        return PatternError{1, "a path pattern begins with '/'"};
    }
    PathPattern pattern;
    std::size_t begin = 1;
    while (begin <= text.size()) {
        const auto end = std::min(text.find('/', begin), text.size());
        const auto segment = text.substr(begin, end - begin);
        const bool last = end == text.size();
        if (segment == "." || segment == "..") {
            return PatternError{begin + 1, "dot segments never match: paths are resolved first"};
        }
        if (segment == "**" && last) {
            pattern.open_end = true;
        } else if (segment.empty() && !last) {
            return PatternError{begin + 1, "'//' never matches: doubled slashes are merged first"};
        } else if (!segment.empty()) {
            auto compiled = SegmentCompiler(segment, begin, names).compile();
            if (auto* failure = std::get_if<PatternError>(&compiled)) {
                return *failure;
            }
            pattern.segments.push_back(std::move(std::get<SegmentPattern>(compiled)));
        }
        begin = end + 1;
    }
    return pattern;
}

std::variant<HostPattern, PatternError> compile_host(std::string_view text, CaptureNames& names) {
    if (text.empty()) {
        return PatternError{1, "a host pattern must not be empty"};
    }
    if (const auto at = text.find_first_of(":/"); at != std::string_view::npos) {
        return PatternError{at + 1, "a host pattern holds neither scheme, port nor path"};
    }
    HostPattern pattern;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const auto end = std::min(text.find('.', begin), text.size());
        const auto label = text.substr(begin, end - begin);
        if (label.empty()) {
            return PatternError{begin + 1, "an empty label"};
        }
        if (label == "**" && begin == 0 && end < text.size()) {
            pattern.open_front = true;
        } else {
            auto compiled = SegmentCompiler(label, begin, names).compile();
            if (auto* failure = std::get_if<PatternError>(&compiled)) {
                return *failure;
            }
            auto& segment = std::get<SegmentPattern>(compiled);
            std::string lower;
            append_normal_host(lower, segment.prefix);
            segment.prefix = lower;
            lower.clear();
            append_normal_host(lower, segment.suffix);
            segment.suffix = lower;
            pattern.labels.push_back(std::move(segment));
        }
        begin = end + 1;
    }
    return pattern;
}

}  // namespace weir::routing
