#pragma once
// A tree of all definitions that the store gives it, which decides which of them may be in force. A
// definition counts (may be in force) when it is valid by itself, no other template has its shape,
// and all its ancestors count and are within the bounds (rules.h). A definition that does not count
// stays in the tree, together with the reason, and counts as soon as the reason is gone.
//
// The tree also remembers what the limiter has been given, and produces the difference as changes.
//
// Cost: a change looks at its own chain and at the definitions below it whose state it alters, and
// never at the whole set.
// Thread-safety: none; it belongs to the store, on the control thread.
// Ownership: it owns its nodes. A node stays at its address until its definition is erased.
// Invariants: between two calls each node is settled, which means that it counts exactly if it has
// no problem. Which definitions count depends on the set alone and not on the order of the changes.
// The caller bounds the number of definitions.

#include <array>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "definitions/definition_error.h"
#include "definitions/rules.h"
#include "limiter/definition.h"
#include "limiter/template_index.h"

namespace weir::definitions {

class DefinitionTree {
  public:
    struct Node;
    /// The definitions that name the same text as their parent, in a list.
    struct SameParent {
        const std::string* text = nullptr;
        std::optional<std::string> shape;  // of a text with captures
        Node* first = nullptr;
        /// The quota that the text means, in force or not; null = there is none.
        Node* parent = nullptr;
    };
    /// The place of a node in the order of names. A hook in the node itself takes half of what a
    /// std::map takes beside each of its values.
    using Hook =
        boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                        boost::intrusive::link_mode<boost::intrusive::normal_link>>;
    /// One definition of the tree. There may be a million, so a node has its name behind it in the
    /// same block of memory, and make() makes it.
    struct Node : Hook {
        [[nodiscard]] static std::unique_ptr<Node> make(std::string_view name);
        Node(const Node&) = delete;
        Node& operator=(const Node&) = delete;
        ~Node() = default;
        /// Without a size, because the block is longer than sizeof(Node).
        static void operator delete(void* memory) { ::operator delete(memory); }

        [[nodiscard]] std::string_view name() const {
            return {reinterpret_cast<const char*>(this + 1), name_size};
        }

        SameParent* family =
            nullptr;             // all nodes that name the same parent; null = it has no parent
        Node* before = nullptr;  // the neighbours in the family's list
        Node* after = nullptr;
        std::uint64_t hash = 0;                    // of name and content
        std::uint64_t given_hash = 0;              // of the content that the limiter was given last
        std::unique_ptr<DefinitionError> problem;  // why it does not count; null = it counts
        const std::uint16_t name_size;
        LimitCounts limits;                  // of itself
        std::uint8_t depth = 0;              // how many ancestors it has
        std::uint8_t chain_limits = 0;       // limits of itself and all its ancestors
        std::uint8_t chain_concurrency = 0;  // of these, limits of requests in flight
        bool incomplete : 1 = false;  // it has limits that only a later version of weir knows
        bool valid : 1 = false;       // it counts
        bool given : 1 = false;       // the limiter has this definition or an earlier content of it
        bool waiting : 1 = false;     // a change for the limiter is queued
        bool dead : 1 = false;        // it was erased while such a change was queued
        bool own_problem : 1 = false;  // it is wrong by itself (validate_alone)
        bool pattern : 1 = false;      // its name has captures

      private:
        struct Room {
            std::uint16_t bytes;  // of the name
        };
        explicit Node(Room room) : name_size(room.bytes) {}
        static void* operator new(std::size_t size, Room room) {
            return ::operator new(size + room.bytes);
        }
        static void operator delete(void* memory, Room) { ::operator delete(memory); }
    };
    /// One change that the limiter has not been given yet.
    struct PendingChange {
        std::string name;
        bool put = false;        // true: put the definition of this name; false: take it away
        std::uint64_t hash = 0;  // the hash of the content that is to be put
    };

    DefinitionTree() = default;
    ~DefinitionTree();
    DefinitionTree(const DefinitionTree&) = delete;
    DefinitionTree& operator=(const DefinitionTree&) = delete;

    /// Adds the definition or replaces the one of its name. `hash` is a hash of its content.
    /// `sound` says that validate_alone() has found no error before.
    void put(const limiter::QuotaDefinition& definition, std::uint64_t hash, bool sound = false);
    /// Removes the definition of this name, if there is one.
    void erase(std::string_view name);
    /// The node of this name, or null; valid until the next put() or erase().
    [[nodiscard]] const Node* find(std::string_view name) const;
    /// How many definitions there are, and how many of them count.
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] std::size_t valid() const { return valid_; }
    /// How many definitions have limits that only a later version of weir knows.
    [[nodiscard]] std::size_t incomplete() const { return incomplete_; }
    /// A hash over all definitions that count; trees with the same ones have the same hash.
    [[nodiscard]] std::uint64_t content_hash() const { return content_hash_; }
    /// Visits nodes in the order of their names, beginning with the first name that is not less
    /// than `from`, until `visit` returns false.
    void for_each(std::string_view from, const std::function<bool(const Node&)>& visit) const;

    /// Why this node, which must not count, does not count; with a suggestion of what may have been
    /// meant.
    [[nodiscard]] DefinitionError explain(const Node& node) const;
    /// Lets the caller see the effects of a change. From now on, until watch(nullptr), the reason
    /// is added to `losses` whenever a definition ceases to count, and whenever one that is put
    /// does not begin to count. The list gets about 64 reasons; most of the further ones are left
    /// out. `lost` gets the name of every definition that ceases to count, even if it counts again
    /// later. Both lists are borrowed.
    void watch(std::vector<DefinitionError>* losses, std::vector<std::string>* lost = nullptr) {
        losses_ = losses;
        lost_ = lost;
    }

    /// The next changes for the limiter, at most `budget` of them. Parents are put before their
    /// children. Definitions that no longer count are taken away after all of these, children
    /// first.
    [[nodiscard]] std::vector<PendingChange> take(std::size_t budget);
    /// About how many changes wait for take().
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

    /// How many nodes all changes so far have looked at, for tests of what changes cost.
    [[nodiscard]] std::uint64_t visits() const { return visits_; }

  private:
    /// The name of a node, by which nodes are ordered.
    struct NameOf {
        using type = std::string_view;
        std::string_view operator()(const Node& node) const { return node.name(); }
    };
    using Nodes = boost::intrusive::set<Node, boost::intrusive::key_of_value<NameOf>>;
    struct Gone {
        std::uint64_t hash = 0;
        std::uint8_t depth = 0;
    };

    [[nodiscard]] Node* find_node(std::string_view name);
    [[nodiscard]] std::pair<Node*, bool> find_or_add(const std::string& name);
    void note_as_lost(const Node& node);
    void note_incomplete(Node& node, bool incomplete);
    void adopt(Node& node, const std::optional<std::string>& parent);
    void leave(Node& node);
    void add_pattern(Node& node);
    void change_pattern(const Node& node, const std::string& shape, bool adding);
    [[nodiscard]] Node* look_up(SameParent& family);
    [[nodiscard]] const limiter::TemplateIndex& index();
    void settle(Node& node);
    void settle_all();
    bool evaluate(Node& node);
    [[nodiscard]] std::optional<DefinitionError> problem_of(Node& node);
    [[nodiscard]] DefinitionError missing_parent(const Node& node, bool suggest) const;
    void queue_children(const Node& node);
    void queue_family(SameParent& family);
    void hand_out(Node& node);
    void take_puts(std::size_t budget, std::vector<PendingChange>& steps);
    void take_erases(std::size_t budget, std::vector<PendingChange>& steps);

    static constexpr std::size_t kDepths = limiter::kMaxChainDepth + 1;

    Nodes nodes_;
    std::unordered_map<std::string, std::unique_ptr<SameParent>> families_;  // by parent's text
    std::unordered_map<std::string, std::set<std::string>> shapes_;  // of patterns, their names
    std::unordered_map<std::string, std::unordered_set<SameParent*>> families_by_shape_;
    /// No quota has exactly their text as its name or shape.
    std::unordered_set<SameParent*> orphan_families_;
    limiter::TemplateIndex index_;
    std::vector<std::string> index_shapes_;  // by the values in the index
    bool index_stale_ = false;
    std::vector<Node*> queue_;
    std::vector<DefinitionError>* losses_ = nullptr;
    std::vector<std::string>* lost_ = nullptr;

    std::array<std::deque<Node*>, kDepths> puts_;
    std::array<std::vector<std::string>, kDepths> erases_;
    std::unordered_map<std::string, Gone> gone_;
    std::unordered_map<Node*, std::unique_ptr<Node>> removed_nodes_;  // the dead ones
    std::size_t waiting_ = 0;
    std::size_t valid_ = 0;
    std::size_t incomplete_ = 0;
    std::uint64_t content_hash_ = 0;
    std::uint64_t visits_ = 0;
};

}  // namespace weir::definitions
