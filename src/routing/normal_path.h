#pragma once
// The normal form of a path, with which routes are matched: its segments, percent-decoded once.
// PathRules say whether dot segments are resolved and doubled slashes merged. A slash at the end
// makes no difference. An escaped slash ("%2F") does not end its segment: it becomes a '/' in the
// segment's text. Each such segment is marked, because some applications take that slash for a
// separator.
//
// Not thread-safe. An object can be used for one path after another; it keeps its buffers, so that
// it soon allocates nothing any more. The views of its segments are valid until the next path.

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

/// Why two programs could read a path differently. The router answers such a path with 400, unless
/// the matching route allows it (docs/routing.md). The segments are built all the same: a malformed
/// escape stays as it was written, and an escaped dot segment is a segment like any other. Of
/// several reasons the first one found is kept.
enum class Ambiguity : std::uint8_t {
    none,
    bad_escape,           ///< '%' without two digits, or an escaped control byte
    escaped_dot_segment,  ///< "%2e%2e", "a%2F..%2Fb", even if dot segments are not resolved
    escaped_backslash,    ///< "%5c", which some programs take for a slash
    above_root,           ///< "/../a", if dot segments are resolved
};
/// One sentence for the client; empty for `none`.
[[nodiscard]] std::string_view explanation(Ambiguity ambiguity);

class NormalPath {
  public:
    /// Reads a path as it stands in the request, without the query. One that does not begin with
    /// '/', such as "*", has no segments.
    void build(std::string_view raw, PathRules rules);
    /// Reads a path as an application does that decodes the whole path first, takes backslashes for
    /// slashes, and splits it afterwards. The router compares the two readings of a path that has
    /// escaped slashes: if they lead to different routes, it answers 400. Escapes are not judged
    /// here: of the ambiguities only `above_root` is found.
    void build_decoded_first(std::string_view raw, PathRules rules);

    [[nodiscard]] std::size_t size() const { return segments_.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t index) const {
        return {text_.data() + segments_[index].begin, segments_[index].size};
    }
    /// Whether the path begins with '/'.
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

    /// Each segment is a piece of this text. It consists of the decoded segments one after the
    /// other; if build() finds nothing to decode, or after build_decoded_first(), it is the path.
    std::string text_;
    std::string decoded_;  // the path as build_decoded_first() has decoded it
    std::vector<Segment> segments_;
    Ambiguity ambiguity_ = Ambiguity::none;
    bool escaped_slash_ = false;
    bool rooted_ = false;
};

/// Appends the normal form of a host: in lower case, without port and without a dot at its end.
void append_normal_host(std::string& out, std::string_view host);

}  // namespace weir::routing
