#pragma once
// The definitions that are wanted here as a tree, and which of them may be in force: a definition
// counts when it is right by itself, no other template has its shape, and its whole chain of
// parents counts and is within the bounds. What is wrong with the others is kept beside them. Each
// change is settled at once and costs by its chain and by the quotas below it that it concerns,
// never by the set. It remembers what was handed to the limiter and hands out the difference,
// parents before children.
//
// Which definitions count depends on the set only, not on the order in which it came about.
// Not thread-safe. Bounded by its caller. Nodes stay where they are until they are erased.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "limiter/definition.h"
#include "limiter/template_index.h"

namespace weir::definitions {

class DefinitionTree {
  public:
    struct Family;
    struct Node {
        Family* family = nullptr;  // who name the same parent
        Node* before = nullptr;    // in it
        Node* after = nullptr;
        const std::string* name = nullptr;
        std::uint64_t hash = 0;        // of name and content
        std::uint64_t given_hash = 0;  // as handed out
        std::unique_ptr<limiter::DefinitionError> problem;
        std::uint8_t limits = 0;
        std::uint8_t depth = 0;         // ancestors
        std::uint8_t chain_limits = 0;  // of itself and its ancestors
        bool valid = false;
        bool given = false;    // the limiter has it
        bool waiting = false;  // to be handed out
        bool dead = false;     // erased while it waited
        bool own_problem = false;
        bool pattern = false;  // has captures
    };
    /// What to do for one name next; nothing to put: take it away.
    struct PendingChange {
        std::string name;
        bool put = false;
        std::uint64_t hash = 0;  // of what is put
    };

    DefinitionTree();
    ~DefinitionTree();
    DefinitionTree(const DefinitionTree&) = delete;
    DefinitionTree& operator=(const DefinitionTree&) = delete;

    /// Adds or replaces. `hash` tells contents apart; `sound`: validate_alone has found nothing
    /// wrong.
    void put(const limiter::QuotaDefinition& definition, std::uint64_t hash, bool sound = false);
    void erase(std::string_view name);
    [[nodiscard]] const Node* find(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] std::size_t valid() const { return valid_; }
    /// Of everything that counts; the same however it came about.
    [[nodiscard]] std::uint64_t content_hash() const { return content_hash_; }
    /// In the order of names, from the first that is not below `from`, until `visit` returns false.
    void for_each(std::string_view from, const std::function<bool(const Node&)>& visit) const;

    /// Why a node does not count, with a suggestion.
    [[nodiscard]] limiter::DefinitionError explain(const Node& node) const;
    /// While it is set, whatever stops to count, or never began to, is noted there, most of it.
    /// The names of all that stop to count, even if only for a moment, are added to `lost`.
    void watch(std::vector<limiter::DefinitionError>* losses,
               std::vector<std::string>* lost = nullptr) {
        losses_ = losses;
        lost_ = lost;
    }

    /// The next things to tell the limiter, at most `budget`: parents are put before children,
    /// after all of them the others go, children first.
    [[nodiscard]] std::vector<PendingChange> take(std::size_t budget);
    [[nodiscard]] bool settled() const { return waiting_ == 0; }
    [[nodiscard]] std::size_t waiting() const { return waiting_; }
    /// The limiter was given everything that counts by other means.
    void all_given();

    /// How many nodes were looked at, ever: what changes cost.
    [[nodiscard]] std::uint64_t visits() const { return visits_; }

  private:
    using Nodes = std::map<std::string, Node, std::less<>>;
    struct Gone {
        std::uint64_t hash = 0;
        std::uint8_t depth = 0;
    };

    [[nodiscard]] std::pair<Node*, bool> find_or_add(const std::string& name);
    void note_as_lost(const Node& node);
    void adopt(Node& node, const std::optional<std::string>& parent);
    void leave(Node& node);
    void add_pattern(Node& node);
    void change_pattern(const Node& node, const std::string& shape, bool adding);
    [[nodiscard]] Node* parent_of(Family& family);
    [[nodiscard]] Node* look_up(Family& family);
    [[nodiscard]] const limiter::TemplateIndex& index();
    void settle(Node& node);
    void settle_all();
    bool evaluate(Node& node);
    [[nodiscard]] std::optional<limiter::DefinitionError> problem_of(Node& node);
    [[nodiscard]] limiter::DefinitionError missing_parent(const Node& node, bool suggest) const;
    void queue_children(const Node& node);
    void queue_family(Family& family);
    void hand_out(Node& node);
    void take_puts(std::size_t budget, std::vector<PendingChange>& steps);
    void take_erases(std::size_t budget, std::vector<PendingChange>& steps);

    static constexpr std::size_t kDepths = limiter::kMaxChainDepth + 1;

    Nodes nodes_;
    std::unordered_map<std::string, std::unique_ptr<Family>> families_;  // by parent's text
    std::unordered_map<std::string, std::set<std::string>> shapes_;      // of patterns, their names
    std::unordered_map<std::string, std::unordered_set<Family*>> families_by_shape_;
    std::unordered_set<Family*> orphan_families_;  // no quota has exactly that name or shape
    limiter::TemplateIndex index_;
    std::vector<std::string> index_shapes_;  // by the index's values
    bool index_stale_ = false;
    std::vector<Node*> queue_;
    std::vector<limiter::DefinitionError>* losses_ = nullptr;
    std::vector<std::string>* lost_ = nullptr;

    std::array<std::deque<Node*>, kDepths> puts_;
    std::array<std::vector<std::string>, kDepths> erases_;
    std::unordered_map<std::string, Gone> gone_;
    std::unordered_map<Node*, Nodes::node_type> removed_nodes_;
    std::size_t waiting_ = 0;
    std::size_t valid_ = 0;
    std::uint64_t content_hash_ = 0;
    std::uint64_t visits_ = 0;
};

}  // namespace weir::definitions
