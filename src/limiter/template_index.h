#pragma once
// Finds the template that a name falls under. The templates form a trie of segments, which is
// searched along every path that the name fits. Of all templates that match, the most literal one
// wins: the one with more literal segments, then with more literal bytes, then with its literal
// segments earlier. One thread builds the index; after that it is immutable and any thread may read
// it.

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

  private:
    /// How literal a template is. Compared member by member; the larger one wins.
    struct Literalness {
        std::uint32_t segments = 0;
        std::uint32_t bytes = 0;
        std::uint32_t early = 0;  // bit 31 - i: segment i is literal
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
    struct Node {
        std::map<std::string, std::uint32_t, std::less<>> literals;
        std::vector<CaptureGroup> capture_groups;
        std::optional<std::uint32_t> value;
        Literalness literalness;
    };
    struct Best {
        std::optional<std::uint32_t> value;
        Literalness literalness;
    };

    std::uint32_t child(std::uint32_t node, const Segment& segment);
    static CaptureGroup& capture_group_of(Node& node, const Segment& segment);
    void explore(std::uint32_t node, std::string_view rest, bool more, Best& best) const;

    std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace weir::limiter
