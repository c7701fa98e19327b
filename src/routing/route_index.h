#pragma once
// Finds the first of many routes that matches a request, without trying them all. Routes are
// selected by literal hosts and then by a tree of the segments of their paths. The index only
// proposes routes; the caller checks each of them completely. Immutable once built, thread-safe.
//
// Invariant: a route that matches a request is always proposed, unless an earlier route matches. It
// owns its tree, and refers to routes by their numbers only.

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

    /// The first route, in the order of the settings, for which matches(route) holds; kNone if
    /// there is none. matches() is called for few routes, in any order. `host` is in normal form.
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
        LiteralMap literals;                 // from a segment to the index of a node
        std::vector<PatternChild> patterns;  // no two are equal
        Routes here;                         // routes whose path ends here
        Routes open;                         // routes whose path goes on with "**"
        std::size_t least = kNone;           // the first route in this node and below
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
    // The first tree has the routes whose hosts are patterns, and those for any host.
    std::vector<Tree> trees_;
    LiteralMap hosts_;  // from a literal host to the index of its tree
};

}  // namespace weir::routing
