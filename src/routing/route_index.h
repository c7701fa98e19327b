#pragma once
// Finds the first of many routes that matches without trying them all: routes are told apart by
// literal hosts, then by a tree of the segments of their paths. The index only proposes; what it
// proposes is checked in full. Immutable after building, thread-safe.
//
// Invariant: a route that matches a request is always proposed, unless one before it matches.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "routing/literal_map.h"
#include "routing/normal_path.h"
#include "routing/pattern.h"

namespace weir::routing {

struct CompiledRoute;

class RouteIndex {
  public:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    void build(std::span<const CompiledRoute> routes);

    /// The least route for which matches(route) holds, asked about as few as possible, in any
    /// order; kNone without one. `host` is normal.
    template <class Matches>
    [[nodiscard]] std::size_t first(std::string_view host, const NormalPath& path,
                                    Matches matches) const {
        Search<Matches> search{*this, path, matches};
        if (const auto own = hosts_.find(host)) {
            search.tree(trees_[*own]);
        }
        if (!trees_.empty()) {
            search.tree(trees_.front());
        }
        return search.best;
    }

  private:
    using Routes = std::vector<std::uint32_t>;  // ascending

    struct PatternChild {
        SegmentPattern pattern;
        std::uint32_t node;
    };
    struct Node {
        LiteralMap literals;                 // segment -> node
        std::vector<PatternChild> patterns;  // different ones
        Routes here;                         // whose path ends here
        Routes open;                         // that go on with "**"
        std::size_t least = kNone;           // route in this node and below
    };
    struct Tree {
        Routes pathless;
        std::uint32_t root;
    };

    template <class Matches>
    struct Search {
        const RouteIndex& index;
        const NormalPath& path;
        Matches& matches;
        std::size_t best = kNone;

        void tree(const Tree& tree) {
            list(tree.pathless);
            if (path.is_rooted()) {
                node(index.nodes_[tree.root], 0);
            }
        }
        void list(const Routes& routes) {
            for (const std::size_t route : routes) {
                if (route >= best) {
                    return;
                }
                if (matches(route)) {
                    best = route;
                }
            }
        }
        void node(const Node& node, std::size_t depth) {
            if (node.least >= best) {
                return;
            }
            list(node.open);
            if (depth == path.size()) {
                return list(node.here);
            }
            const auto segment = path[depth];
            if (const auto child = node.literals.find(segment)) {
                below(*child, depth);
            }
            for (const auto& [pattern, child] : node.patterns) {
                if (pattern.fits(segment)) {
                    below(child, depth);
                }
            }
        }
        void below(std::uint32_t child, std::size_t depth) { node(index.nodes_[child], depth + 1); }
    };

    std::uint32_t add_tree();
    std::uint32_t add_node();
    std::uint32_t child_of(std::uint32_t node, const SegmentPattern& segment);
    void add(std::uint32_t tree, std::size_t route, const CompiledRoute& compiled);

    std::vector<Node> nodes_;
    std::vector<Tree> trees_;  // the first one: routes for hosts that are patterns, or for any
    LiteralMap hosts_;         // -> tree
};

}  // namespace weir::routing
