#pragma once
// The normal form of a path, with which routes are matched: its segments, percent-decoded once.
// PathRules say whether dot segments are resolved and doubled slashes merged. A slash at the end
// makes no difference. An escaped slash ("%2F") does not end its segment: it becomes a '/' in the
// segment's text. Nor does a backslash. Each segment with one of these is marked, because some
// applications take it for a separator; and so is a segment with an escaped control byte, which
// some applications drop.
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
    bad_escape,           ///< '%' without two digits, or an escaped NUL
    escaped_dot_segment,  ///< "%2e%2e", "a%2F..%2Fb", "a\..\b", even if dot segments stay
    escaped_backslash,    ///< "%5c" in the name of a bucket
    above_root,           ///< "/../a", if dot segments are resolved
    doubtful_climb,       ///< "/a%2Fb/../c": how far ".." leads depends on the reading
};
/// One sentence for the client; empty for `none`.
[[nodiscard]] std::string_view explanation(Ambiguity ambiguity);

/// A byte that belongs to a segment's text here and that some applications read otherwise. Only
/// where a route's decision depends on it the path is ambiguous.
enum class Doubt : std::uint8_t {
    none,
    escaped_slash,      ///< "%2F": they decode the path before they split it
    backslash,          ///< they take it for a slash
    escaped_backslash,  ///< "%5C": they do both
    control_byte,       ///< "%0A", "%0D", "%09" and the like: they drop it
    several,            ///< doubts of several kinds, which make more than two readings
};
/// One sentence for the client about a doubt that decides about the route; empty for `none`.
[[nodiscard]] std::string_view explanation(Doubt doubt);

class NormalPath {
  public:
    /// Reads a path as it stands in the request, without the query. One that does not begin with
    /// '/', such as "*", has no segments.
    void build(std::string_view raw, PathRules rules);
    /// Reads a path as an application does that decodes the whole path first, drops control bytes,
    /// takes backslashes for slashes, and splits it afterwards. The router compares the two
    /// readings of a path that has doubts of one kind: if they lead to different routes, it answers
    /// 400. Escapes are not judged here: of the ambiguities only `above_root` is found.
    void build_decoded_first(std::string_view raw, PathRules rules);

    [[nodiscard]] std::size_t size() const { return segments_.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t index) const {
        return {text_.data() + segments_[index].begin, segments_[index].size};
    }
    /// Whether the path begins with '/'.
    [[nodiscard]] bool is_rooted() const { return rooted_; }
    [[nodiscard]] bool is_doubtful(std::size_t index) const { return segments_[index].doubtful; }
    /// How many segments stand before the first doubtful one. They begin every reading of the path,
    /// unless it is ambiguous.
    [[nodiscard]] std::size_t before_doubts() const;
    /// The doubt of the path.
    [[nodiscard]] Doubt doubt() const { return doubt_; }
    [[nodiscard]] Ambiguity ambiguity() const { return ambiguity_; }

  private:
    struct Segment {
        std::uint32_t begin;
        std::uint32_t size;
        bool doubtful;
    };

    void begin();
    void split(std::string_view raw, PathRules rules, bool decode);
    void add(std::string_view raw, std::size_t offset, PathRules rules, bool decode);
    void decode_segment(std::string_view raw);
    void look_for_hidden_dots(std::string_view segment);
    void found(Ambiguity ambiguity);
    void found(Doubt doubt);

    /// Each segment is a piece of this text. It consists of the decoded segments one after the
    /// other; if build() finds nothing to decode, or after build_decoded_first(), it is the path.
    std::string text_;
    std::string decoded_;  // the path as build_decoded_first() has decoded it
    std::vector<Segment> segments_;
    Ambiguity ambiguity_ = Ambiguity::none;
    Doubt doubt_ = Doubt::none;
    bool rooted_ = false;
};

/// Appends the normal form of a host: in lower case, without port and without a dot at its end.
void append_normal_host(std::string& out, std::string_view host);

}  // namespace weir::routing
