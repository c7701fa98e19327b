#pragma once
// The normalised copy of a path that routes match on: segments, percent-decoded once, dot segments
// and doubled slashes resolved as configured. A trailing slash makes no difference. An escaped
// slash is data within its segment, but remembered: some applications take it for a separator.
// Reusable, no allocation after warm-up; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::routing {

struct PathRules {
    bool resolve_dot_segments = true;
    bool merge_slashes = true;
};

/// Why two readers could take a path for two different ones.
enum class Ambiguity : std::uint8_t {
    none,
    bad_escape,           // '%' without two digits, or an escaped control byte
    escaped_dot_segment,  // "%2e%2e", "a%2F..%2Fb"
    escaped_backslash,    // a slash for some
    above_root,           // "/../a"
};
[[nodiscard]] std::string_view explanation(Ambiguity ambiguity);

class NormalPath {
  public:
    /// `raw`: "/…" as it came; anything else ("*") has no segments.
    void build(std::string_view raw, PathRules rules);
    /// As an application sees it that decodes first and splits then.
    void build_decoded_first(std::string_view raw, PathRules rules);

    [[nodiscard]] std::size_t size() const { return segments_.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t index) const {
        return {text_.data() + segments_[index].begin, segments_[index].size};
    }
    [[nodiscard]] bool is_rooted() const { return rooted_; }
    [[nodiscard]] bool has_escaped_slash(std::size_t index) const {
        return segments_[index].escaped_slash;
    }
    [[nodiscard]] bool has_escaped_slash() const { return escaped_slash_; }
    [[nodiscard]] Ambiguity ambiguity() const { return ambiguity_; }

  private:
    struct Segment {
        std::uint32_t begin;
        std::uint32_t size;
        bool escaped_slash;
    };

    void begin();
    void split(std::string_view raw, PathRules rules, bool decode);
    void add(std::string_view raw, std::size_t offset, PathRules rules, bool decode);
    void decode_segment(std::string_view raw);
    void look_for_hidden_dots(std::string_view segment);
    void found(Ambiguity ambiguity);

    std::string text_;  // decoded segments; the whole path where nothing is to be decoded
    std::string decoded_;
    std::vector<Segment> segments_;
    Ambiguity ambiguity_ = Ambiguity::none;
    bool escaped_slash_ = false;
    bool rooted_ = false;
};

/// Appends the host in lower case, without port and trailing dot.
void append_normal_host(std::string& out, std::string_view host);

}  // namespace weir::routing
