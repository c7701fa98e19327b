#include "definitions/tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "definitions/rules.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;

}  // namespace

std::unique_ptr<DefinitionTree::Node> DefinitionTree::Node::make(std::string_view name) {
    WEIR_ASSERT(name.size() <= std::numeric_limits<std::uint16_t>::max());
    const Room room{static_cast<std::uint16_t>(name.size())};
    std::unique_ptr<Node> node(new (room) Node(room));
    std::copy(name.begin(), name.end(), reinterpret_cast<char*>(node.get() + 1));
    return node;
}

DefinitionTree::~DefinitionTree() {
    nodes_.clear_and_dispose([](Node* node) { delete node; });
}

const DefinitionTree::Node* DefinitionTree::find(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &*found;
}

DefinitionTree::Node* DefinitionTree::find_node(std::string_view name) {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &*found;
}

void DefinitionTree::for_each(std::string_view from,
                              const std::function<bool(const Node&)>& visit) const {
    for (auto it = nodes_.lower_bound(from); it != nodes_.end(); ++it) {
        WEIR_ASSERT(!it->dead);
        if (!visit(*it)) {
            return;
        }
    }
}

// --- changes ------------------------------------------------------------------------------------

/// The node of that name, and whether it is new.
std::pair<DefinitionTree::Node*, bool> DefinitionTree::find_or_add(const std::string& name) {
    // Documents are sorted, so the next name usually belongs at the end.
    const auto hint =
        nodes_.empty() || nodes_.rbegin()->name() < name ? nodes_.end() : nodes_.lower_bound(name);
    if (hint != nodes_.end() && hint->name() == name) {
        return {&*hint, false};
    }
    Node& node = *nodes_.insert(hint, *Node::make(name).release());
    if (const auto gone = gone_.find(name); gone != gone_.end()) {
        WEIR_ASSERT(!node.waiting && gone->second.depth < kDepths);
        node.given = true;
        node.given_hash = gone->second.hash;
        node.depth = gone->second.depth;
        gone_.erase(gone);
    }
    return {&node, true};
}

void DefinitionTree::put(const QuotaDefinition& definition, std::uint64_t hash, bool sound) {
    settle_all();  // a change that memory was too short for may have left something
    const auto [place, fresh] = find_or_add(definition.name);
    Node& node = *place;
    std::vector<DefinitionError> alone;
    if (!sound) {
        alone = validate_alone(definition);
    }
    const LimitCounts limits = count_limits(definition);
    const bool same_parent = definition.parent.has_value() == (node.family != nullptr) &&
                             (!definition.parent || *node.family->text == *definition.parent);
    const bool same_shape =
        !fresh && same_parent && node.limits == limits && !node.own_problem && alone.empty();
    if (node.valid) {
        content_hash_ += hash - node.hash;
    }
    node.hash = hash;
    node.limits = limits;
    note_incomplete(node, definition.options->limits_of_later_version > 0);
    auto own = alone.empty() ? nullptr : std::make_unique<DefinitionError>(alone.front());
    node.own_problem = own != nullptr;
    if (node.own_problem) {
        node.problem = std::move(own);
        if (losses_ != nullptr) {
            losses_->insert(losses_->end(), alone.begin(), alone.end());
        }
    }
    if (same_shape) {
        ++visits_;
        if (!node.valid && losses_ != nullptr && node.problem) {
            losses_->push_back(*node.problem);
        }
        return hand_out(node);
    }
    if (!same_parent) {
        leave(node);
        adopt(node, definition.parent);
    }
    if (fresh) {
        add_pattern(node);
    }
    const bool counted = node.valid;
    settle(node);
    WEIR_ASSERT(node.valid == (node.problem == nullptr));
    if (!counted && !node.valid) {
        note_as_lost(node);
    }
}

void DefinitionTree::note_incomplete(Node& node, bool incomplete) {
    WEIR_ASSERT(!node.incomplete || incomplete_ > 0);
    incomplete_ += incomplete ? 1 : 0;
    incomplete_ -= node.incomplete ? 1 : 0;
    node.incomplete = incomplete;
}

void DefinitionTree::erase(std::string_view name) {
    settle_all();  // as in put()
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) {
        return;
    }
    Node& node = *found;
    WEIR_ASSERT(!node.dead);
    const std::string text(node.name());
    if (node.given) {
        gone_[text] = {node.given_hash, node.depth};
        erases_[node.depth].push_back(text);
        ++waiting_;
    }
    if (node.valid) {
        WEIR_ASSERT(valid_ > 0);
        content_hash_ -= node.hash;
        --valid_;
    }
    node.valid = false;
    note_incomplete(node, false);
    leave(node);
    const bool pattern = node.pattern;
    nodes_.erase(found);
    std::unique_ptr<Node> removed(&node);
    WEIR_ASSERT(valid_ <= nodes_.size());
    if (node.waiting) {
        node.dead = true;
        removed_nodes_.emplace(&node, std::move(removed));
    }
    if (pattern) {
        change_pattern(node, *template_shape_of(text), false);
    } else if (const auto family = families_.find(text); family != families_.end()) {
        family->second->parent = look_up(*family->second);
        queue_family(*family->second);
    }
    settle_all();
}

void DefinitionTree::adopt(Node& node, const std::optional<std::string>& parent) {
    if (!parent) {
        return;
    }
    const auto [place, fresh] = families_.try_emplace(*parent, nullptr);
    if (fresh) {
        place->second = std::make_unique<SameParent>();
        SameParent& family = *place->second;
        family.text = &place->first;
        family.shape = template_shape_of(*parent);
        if (family.shape) {
            families_by_shape_[*family.shape].insert(&family);
        }
        family.parent = look_up(family);
    }
    SameParent& family = *place->second;
    WEIR_ASSERT(node.family == nullptr && node.before == nullptr);
    WEIR_ASSERT(fresh == (family.first == nullptr));  // a family without members is dropped
    node.family = &family;
    node.before = nullptr;
    node.after = family.first;
    if (family.first != nullptr) {
        family.first->before = &node;
    }
    family.first = &node;
}

void DefinitionTree::leave(Node& node) {
    SameParent* const family = std::exchange(node.family, nullptr);
    if (family == nullptr) {
        return;
    }
    WEIR_ASSERT(node.before != nullptr || family->first == &node);
    WEIR_ASSERT(node.after == nullptr || node.after->before == &node);
    (node.before != nullptr ? node.before->after : family->first) = node.after;
    if (node.after != nullptr) {
        node.after->before = node.before;
    }
    node.before = node.after = nullptr;
    if (family->first != nullptr) {
        return;
    }
    if (family->shape) {
        const auto alike = families_by_shape_.find(*family->shape);
        WEIR_ASSERT(alike != families_by_shape_.end());
        alike->second.erase(family);
        if (alike->second.empty()) {
            families_by_shape_.erase(alike);
        }
    }
    orphan_families_.erase(family);
    const std::size_t erased = families_.erase(std::string(*family->text));
    WEIR_ASSERT(erased == 1);
}

}  // namespace weir::definitions
