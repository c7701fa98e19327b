#include "definitions/tree.h"

#include <algorithm>
#include <utility>

#include "limiter/name_pattern.h"

namespace weir::definitions {
namespace {

using limiter::DefinitionError;
using limiter::NamePattern;
using limiter::QuotaDefinition;

constexpr std::size_t kMostLosses = 64;
/// For "did you mean": names on both sides of where the missing one would be.
constexpr std::size_t kNamesAround = 1000;

/// The name with captures made anonymous: what it matches. Nothing for exact names.
std::optional<std::string> shape_of(std::string_view name) {
    if (!limiter::is_template(name)) {
        return std::nullopt;
    }
    const auto pattern = NamePattern::parse(name);
    if (!pattern || !pattern->has_captures()) {
        return std::nullopt;
    }
    std::string text;
    for (const limiter::Segment& segment : pattern->segments()) {
        text += '/' + segment.prefix + (segment.literal ? "" : "{}") + segment.suffix;
    }
    return text;
}

}  // namespace

struct DefinitionTree::Family {
    const std::string* text = nullptr;
    std::optional<std::string> shape;  // of a text with captures
    Node* first = nullptr;
    Node* parent = nullptr;  // whom the text means, whether it counts or not
};

DefinitionTree::DefinitionTree() = default;
DefinitionTree::~DefinitionTree() = default;

const DefinitionTree::Node* DefinitionTree::find(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &found->second;
}

void DefinitionTree::for_each(std::string_view from,
                              const std::function<bool(const Node&)>& visit) const {
    for (auto it = nodes_.lower_bound(from); it != nodes_.end(); ++it) {
        if (!visit(it->second)) {
            return;
        }
    }
}

// --- changes ------------------------------------------------------------------------------------

/// The node of that name, and whether it is new.
std::pair<DefinitionTree::Node*, bool> DefinitionTree::find_or_add(const std::string& name) {
    // Documents come sorted, so the end is where the next one goes most often.
    const auto hint = nodes_.empty() || std::prev(nodes_.end())->first < name
                          ? nodes_.end()
                          : nodes_.lower_bound(name);
    if (hint != nodes_.end() && hint->first == name) {
        return {&hint->second, false};
    }
    const auto place = nodes_.emplace_hint(hint, name, Node{});
    Node& node = place->second;
    node.name = &place->first;
    if (const auto gone = gone_.find(name); gone != gone_.end()) {
        node.given = true;
        node.given_hash = gone->second.hash;
        node.depth = gone->second.depth;
        gone_.erase(gone);
    }
    return {&node, true};
}

void DefinitionTree::put(const QuotaDefinition& definition, std::uint64_t hash, bool sound) {
    const auto [place, fresh] = find_or_add(definition.name);
    Node& node = *place;
    std::vector<DefinitionError> alone;
    if (!sound) {
        alone = limiter::validate_alone(definition);
    }
    const auto limits = static_cast<std::uint8_t>(
        std::min<std::size_t>(definition.limits.size(), limiter::kMaxLimitsPerQuota));
    const bool same_parent = definition.parent.has_value() == (node.family != nullptr) &&
                             (!definition.parent || *node.family->text == *definition.parent);
    const bool same_shape =
        !fresh && same_parent && node.limits == limits && !node.own_problem && alone.empty();
    if (node.valid) {
        content_hash_ += hash - node.hash;
    }
    node.hash = hash;
    node.limits = limits;
    node.own_problem = !alone.empty();
    if (node.own_problem) {
        node.problem = std::make_unique<DefinitionError>(alone.front());
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
    if (!counted && !node.valid) {
        note_as_lost(node);
    }
}

/// Notes why the definition is not in force. A problem that it has by itself has been noted
/// already; a missing parent is then noted as well.
void DefinitionTree::note_as_lost(const Node& node) {
    if (losses_ == nullptr || !node.problem || losses_->size() >= kMostLosses) {
        return;
    }
    if (!node.own_problem) {
        losses_->push_back(*node.problem);
    } else if (node.family != nullptr && node.family->parent == nullptr) {
        losses_->push_back(missing_parent(node, true));
    }
}

void DefinitionTree::erase(std::string_view name) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) {
        return;
    }
    Node& node = found->second;
    if (node.given) {
        gone_[found->first] = {node.given_hash, node.depth};
        erases_[node.depth].push_back(found->first);
        ++waiting_;
    }
    if (node.valid) {
        content_hash_ -= node.hash;
        --valid_;
    }
    node.valid = false;
    leave(node);
    const bool pattern = node.pattern;
    const std::string text = found->first;
    auto handle = nodes_.extract(found);
    if (node.waiting) {
        node.dead = true;
        removed_nodes_.emplace(&node, std::move(handle));
    }
    if (pattern) {
        change_pattern(node, *shape_of(text), false);
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
        place->second = std::make_unique<Family>();
        Family& family = *place->second;
        family.text = &place->first;
        family.shape = shape_of(*parent);
        if (family.shape) {
            families_by_shape_[*family.shape].insert(&family);
        }
        family.parent = look_up(family);
    }
    Family& family = *place->second;
    node.family = &family;
    node.before = nullptr;
    node.after = family.first;
    if (family.first != nullptr) {
        family.first->before = &node;
    }
    family.first = &node;
}

void DefinitionTree::leave(Node& node) {
    Family* const family = std::exchange(node.family, nullptr);
    if (family == nullptr) {
        return;
    }
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
        alike->second.erase(family);
        if (alike->second.empty()) {
            families_by_shape_.erase(alike);
        }
    }
    orphan_families_.erase(family);
    families_.erase(std::string(*family->text));
}

// --- whom a parent's text means -----------------------------------------------------------------

void DefinitionTree::add_pattern(Node& node) {
    const auto shape = shape_of(*node.name);
    node.pattern = shape.has_value();
    if (shape) {
        change_pattern(node, *shape, true);
    } else if (const auto family = families_.find(*node.name); family != families_.end()) {
        orphan_families_.erase(family->second.get());
        family->second->parent = &node;
        queue_family(*family->second);
    }
}

/// A template came or goes: others of its shape, and parents' texts that fall under it, may mean
/// another one now.
void DefinitionTree::change_pattern(const Node& node, const std::string& shape, bool adding) {
    std::set<std::string>& names = shapes_[shape];
    if (adding) {
        if (names.empty()) {
            const auto number = static_cast<std::uint32_t>(index_shapes_.size());
            index_.add(*NamePattern::parse(*node.name), number);
            index_shapes_.push_back(shape);
        }
        names.insert(*node.name);
    } else {
        names.erase(*node.name);
    }
    for (const std::string& name : names) {
        if (const auto other = nodes_.find(name);
            other != nodes_.end() && &other->second != &node) {
            queue_.push_back(&other->second);
        }
    }
    if (names.empty()) {
        shapes_.erase(shape);
        index_stale_ = true;
    }
    std::vector<Family*> concerned(orphan_families_.begin(), orphan_families_.end());
    if (const auto alike = families_by_shape_.find(shape); alike != families_by_shape_.end()) {
        concerned.insert(concerned.end(), alike->second.begin(), alike->second.end());
    }
    for (Family* family : concerned) {
        ++visits_;
        Node* const parent = look_up(*family);
        if (std::exchange(family->parent, parent) != parent) {
            queue_family(*family);
        }
    }
}

const limiter::TemplateIndex& DefinitionTree::index() {
    if (std::exchange(index_stale_, false)) {
        index_ = {};
        index_shapes_.clear();
        for (const auto& [shape, names] : shapes_) {
            index_.add(*NamePattern::parse(*names.begin()),
                       static_cast<std::uint32_t>(index_shapes_.size()));
            index_shapes_.push_back(shape);
        }
    }
    return index_;
}

/// A quota of exactly that name or shape, else the template that the text falls under.
DefinitionTree::Node* DefinitionTree::look_up(Family& family) {
    const auto by_shape = [this](const std::string& shape) -> Node* {
        const auto names = shapes_.find(shape);
        if (names == shapes_.end()) {
            return nullptr;
        }
        const auto found = nodes_.find(*names->second.begin());
        return found == nodes_.end() ? nullptr : &found->second;
    };
    Node* exact = nullptr;
    if (family.shape) {
        exact = by_shape(*family.shape);
    } else if (const auto found = nodes_.find(*family.text); found != nodes_.end()) {
        exact = &found->second;
    }
    if (exact != nullptr) {
        orphan_families_.erase(&family);
        return exact;
    }
    orphan_families_.insert(&family);
    const auto under = index().find(*family.text);
    return under ? by_shape(index_shapes_[*under]) : nullptr;
}

// --- who counts ---------------------------------------------------------------------------------

void DefinitionTree::settle(Node& node) {
    queue_.push_back(&node);
    settle_all();
}

void DefinitionTree::settle_all() {
    while (!queue_.empty()) {
        Node& node = *queue_.back();
        queue_.pop_back();
        if (evaluate(node)) {
            queue_children(node);
        }
    }
}

/// True when something changed that its children depend on.
bool DefinitionTree::evaluate(Node& node) {
    ++visits_;
    const bool before = node.valid;
    const std::uint8_t depth = node.depth;
    const std::uint8_t chain_limits = node.chain_limits;
    std::optional<DefinitionError> problem = problem_of(node);
    node.valid = !problem;
    if (!problem) {
        node.problem.reset();
    } else if (!node.own_problem) {
        if (before && losses_ != nullptr && losses_->size() < kMostLosses) {
            losses_->push_back(*problem);
        }
        if (before && lost_ != nullptr) {
            lost_->push_back(*node.name);
        }
        node.problem = std::make_unique<DefinitionError>(std::move(*problem));
    }
    if (before != node.valid) {
        valid_ += node.valid ? 1 : std::size_t(-1);
        content_hash_ += node.valid ? node.hash : ~node.hash + 1;
    }
    hand_out(node);
    return before != node.valid || depth != node.depth || chain_limits != node.chain_limits;
}

std::optional<DefinitionError> DefinitionTree::problem_of(Node& node) {
    const auto wrong = [&](std::string field, std::string message) {
        return DefinitionError{0, *node.name, std::move(field), std::move(message), {}};
    };
    if (node.own_problem) {
        return *node.problem;
    }
    if (node.pattern) {
        const auto names = shapes_.find(*shape_of(*node.name));
        if (const std::string& first = *names->second.begin(); first != *node.name) {
            return wrong("name", "matches the same names as '" + first + "'");
        }
    }
    if (node.family == nullptr) {
        node.depth = 0;
        node.chain_limits = node.limits;
        return std::nullopt;
    }
    const Node* const parent = node.family->parent;
    if (parent == nullptr) {
        return missing_parent(node, losses_ != nullptr && losses_->size() < kMostLosses);
    }
    std::size_t depth = 0;
    for (const Node* above = parent; above != nullptr;
         above = above->family != nullptr ? above->family->parent : nullptr) {
        if (above == &node) {
            return wrong("parent", "is its own ancestor");
        }
        if (++depth >= limiter::kMaxChainDepth) {
            return wrong("parent", "more than " + std::to_string(limiter::kMaxChainDepth) +
                                       " quotas in a chain, or a cycle above this one");
        }
    }
    if (!parent->valid) {
        return wrong("parent", "'" + *parent->name + "' is not in force itself");
    }
    if (parent->chain_limits + node.limits > static_cast<int>(limiter::kMaxChainLimits)) {
        return wrong("limits", "more than " + std::to_string(limiter::kMaxChainLimits) +
                                   " limits in a chain");
    }
    node.depth = static_cast<std::uint8_t>(parent->depth + 1);
    node.chain_limits = static_cast<std::uint8_t>(parent->chain_limits + node.limits);
    return std::nullopt;
}

DefinitionError DefinitionTree::explain(const Node& node) const {
    const bool missing = node.family != nullptr && node.family->parent == nullptr;
    return missing && !node.own_problem ? missing_parent(node, true) : *node.problem;
}

/// A suggestion only for whoever reads it now: a million may miss one parent.
DefinitionError DefinitionTree::missing_parent(const Node& node, bool suggest) const {
    const Family& family = *node.family;
    DefinitionError error{0, *node.name, "parent", "there is no quota '" + *family.text + "'", {}};
    if (!suggest) {
        return error;
    }
    std::vector<std::string_view> names;
    const auto middle = nodes_.lower_bound(*family.text);
    auto below = middle;
    for (std::size_t i = 0; i < kNamesAround && below != nodes_.begin(); ++i) {
        names.emplace_back((--below)->first);
    }
    auto above = middle;
    for (std::size_t i = 0; i < kNamesAround && above != nodes_.end(); ++i, ++above) {
        names.emplace_back(above->first);
    }
    error.suggestion = limiter::did_you_mean(*family.text, names);
    return error;
}

void DefinitionTree::queue_children(const Node& node) {
    if (!node.pattern) {
        if (const auto family = families_.find(*node.name); family != families_.end()) {
            queue_family(*family->second);
        }
    } else if (const auto alike = families_by_shape_.find(*shape_of(*node.name));
               alike != families_by_shape_.end()) {
        for (Family* family : alike->second) {
            queue_family(*family);
        }
    }
    if (node.pattern) {
        for (Family* family : orphan_families_) {
            if (family->parent == &node) {
                queue_family(*family);
            }
        }
    }
}

void DefinitionTree::queue_family(Family& family) {
    for (Node* child = family.first; child != nullptr; child = child->after) {
        queue_.push_back(child);
    }
}

}  // namespace weir::definitions
