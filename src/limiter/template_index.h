#pragma once
// Finds the template that a name falls under. The templates form a trie of segments, which is
// searched along every path that the name fits. Of all templates that match, the most literal one
// wins: the one with more literal segments, then with more literal bytes, then with its literal
// segments earlier. Any template without a catch-all wins over those with one, and of two with one
// that are as literal as each other the one with more segments. One thread builds the index; after
// that it is immutable and any thread may read it. It owns copies of the names of its templates.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/name_pattern.h"

namespace weir::limiter {

class TemplateIndex {
  public:
    void add(const NamePattern& pattern, std::uint32_t value);
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
    /// The same for the text of a parent. A catch-all is nobody's parent, because it would fit a
    /// text that is misspelt, too.
    [[nodiscard]] std::optional<std::uint32_t> find_parent(std::string_view text) const;
    [[nodiscard]] bool has_catch_all() const { return has_catch_all_; }

  private:
    /// How literal a template is. Compared member by member; the larger one wins.
    struct Literalness {
        bool bounded = false;  // it has no catch-all
        std::uint32_t segments = 0;
        std::uint32_t bytes = 0;
        std::uint32_t early = 0;  // bit 31 - i: segment i is literal
        std::uint32_t depth = 0;  // segments before a catch-all
        friend auto operator<=>(const Literalness&, const Literalness&) = default;
    };
    /// The text before a capture and the text behind it.
    using Edges = std::pair<std::string, std::string>;
    using EdgesView = std::pair<std::string_view, std::string_view>;
    struct EdgesLess {
        using is_transparent = void;
        bool operator()(const EdgesView& left, const EdgesView& right) const {
            return left < right;
        }
    };
    /// The branches by captures whose edges have these sizes. So a search looks once for each pair
    /// of sizes, and not at each branch.
    struct CaptureGroup {
        std::size_t prefix_size;
        std::size_t suffix_size;
        std::map<Edges, std::uint32_t, EdgesLess> nodes;
    };
    struct Best {
        std::optional<std::uint32_t> value;
        Literalness literalness;
        void offer(const Best& other) {
            if (other.value && (!value || other.literalness > literalness)) {
                *this = other;
            }
        }
    };
    struct Node {
        std::map<std::string, std::uint32_t, std::less<>> literals;
        std::vector<CaptureGroup> capture_groups;
        Best here;       // the template that ends here
        Best catch_all;  // the one that goes on with a catch-all
    };

    std::uint32_t child(std::uint32_t node, const NameSegment& segment);
    static CaptureGroup& capture_group_of(Node& node, const NameSegment& segment);
    [[nodiscard]] Best best_for(std::string_view name) const;
    void explore(std::uint32_t node, std::string_view rest, bool more, Best& best) const;

    std::vector<Node> nodes_ = std::vector<Node>(1);
    bool has_catch_all_ = false;
};

}  // namespace weir::limiter
