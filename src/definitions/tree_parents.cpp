// The part of DefinitionTree that finds the quota that the text of a parent means: a quota of that
// name or shape, or the template under which the text falls.

#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "definitions/rules.h"
#include "definitions/tree.h"
#include "limiter/name_pattern.h"

namespace weir::definitions {

using limiter::NamePattern;

void DefinitionTree::add_pattern(Node& node) {
    const auto shape = template_shape_of(node.name());
    node.pattern = shape.has_value();
    if (shape) {
        change_pattern(node, *shape, true);
    } else if (const auto family = families_.find(std::string(node.name()));
               family != families_.end()) {
        WEIR_ASSERT(!family->second->shape);  // the same text has captures or has none
        orphan_families_.erase(family->second.get());
        family->second->parent = &node;
        queue_family(*family->second);
    }
}

/// A template was added or is removed: other names of its shape, and the texts of parents that
/// match it, may mean another quota now.
void DefinitionTree::change_pattern(const Node& node, const std::string& shape, bool adding) {
    std::set<std::string>& names = shapes_[shape];
    if (adding) {
        if (names.empty()) {
            const auto number = static_cast<std::uint32_t>(index_shapes_.size());
            index_.add(*NamePattern::parse(node.name()), number);
            index_shapes_.push_back(shape);
        }
        names.emplace(node.name());
    } else {
        names.erase(std::string(node.name()));
    }
    WEIR_ASSERT(names.contains(std::string(node.name())) == adding);
    for (const std::string& name : names) {
        if (Node* const other = find_node(name); other != nullptr && other != &node) {
            queue_.push_back(other);
        }
    }
    if (names.empty()) {
        shapes_.erase(shape);
        index_stale_ = true;
    }
    std::vector<SameParent*> concerned(orphan_families_.begin(), orphan_families_.end());
    if (const auto alike = families_by_shape_.find(shape); alike != families_by_shape_.end()) {
        concerned.insert(concerned.end(), alike->second.begin(), alike->second.end());
    }
    for (SameParent* family : concerned) {
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
        WEIR_ASSERT(index_shapes_.size() == shapes_.size());
    }
    return index_;
}

/// The quota of exactly that name or shape or, if there is none, the template that the text
/// matches.
DefinitionTree::Node* DefinitionTree::look_up(SameParent& family) {
    const auto by_shape = [this](const std::string& shape) -> Node* {
        const auto names = shapes_.find(shape);
        if (names == shapes_.end()) {
            return nullptr;
        }
        WEIR_ASSERT(!names->second.empty());
        return find_node(*names->second.begin());
    };
    Node* exact = nullptr;
    if (family.shape) {
        exact = by_shape(*family.shape);
    } else {
        exact = find_node(*family.text);
    }
    if (exact != nullptr) {
        orphan_families_.erase(&family);
        return exact;
    }
    orphan_families_.insert(&family);
    const auto under = index().find_parent(*family.text);
    WEIR_ASSERT(!under || *under < index_shapes_.size());
    return under ? by_shape(index_shapes_[*under]) : nullptr;
}

}  // namespace weir::definitions
