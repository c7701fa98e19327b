// The part of DefinitionTree that decides which definitions count, and why the others do not.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/closest.h"
#include "definitions/rules.h"
#include "definitions/tree.h"

namespace weir::definitions {
namespace {

constexpr std::size_t kMostLosses = 64;
/// How many names on both sides of a missing one are compared to find a suggestion.
constexpr std::size_t kNamesAround = 1000;
/// The letters of these names that are compared at most.
constexpr std::size_t kLettersForOneSuggestion = kLettersForSuggestions / 16;

}  // namespace

void DefinitionTree::settle(Node& node) {
    queue_.push_back(&node);
    settle_all();
}

void DefinitionTree::settle_all() {
    while (!queue_.empty()) {
        Node& node = *queue_.back();
        WEIR_ASSERT(!node.dead);
        const bool changed = evaluate(node);
        queue_.pop_back();  // not before: what found no memory is evaluated again
        if (changed) {
            queue_children(node);
        }
    }
}

/// Computes whether the node is valid. True when something has changed on which its children
/// depend.
bool DefinitionTree::evaluate(Node& node) {
    ++visits_;
    const bool before = node.valid;
    const std::uint8_t depth = node.depth;
    const auto chain_of = [&node] { return std::pair(node.chain_limits, node.chain_concurrency); };
    const auto chain = chain_of();
    const std::optional<DefinitionError> problem = problem_of(node);
    // All that needs memory comes first: when there is none, the node stays as it was.
    std::unique_ptr<DefinitionError> kept;
    if (problem && !node.own_problem) {
        kept = std::make_unique<DefinitionError>(*problem);
        if (before && losses_ != nullptr && losses_->size() < kMostLosses) {
            losses_->push_back(*problem);
        }
        if (before && lost_ != nullptr) {
            lost_->emplace_back(node.name());
        }
    }
    node.valid = !problem;
    if (!problem || kept != nullptr) {
        node.problem = std::move(kept);
    }
    if (before != node.valid) {
        WEIR_ASSERT(node.valid || valid_ > 0);
        valid_ += node.valid ? 1 : std::size_t(-1);
        content_hash_ += node.valid ? node.hash : ~node.hash + 1;
    }
    WEIR_ASSERT(valid_ <= nodes_.size());
    WEIR_ASSERT(node.valid == (node.problem == nullptr) && !(node.valid && node.own_problem));
    hand_out(node);
    return before != node.valid || depth != node.depth || chain != chain_of();
}

std::optional<DefinitionError> DefinitionTree::problem_of(Node& node) {
    if (node.own_problem) {
        WEIR_ASSERT(node.problem != nullptr);
        return *node.problem;
    }
    if (node.pattern) {
        const auto names = shapes_.find(*template_shape_of(node.name()));
        WEIR_ASSERT(names != shapes_.end() && !names->second.empty());
        if (const std::string& first = *names->second.begin(); first != node.name()) {
            return same_shape_error(node.name(), first);
        }
    }
    if (node.family != nullptr && node.family->parent == nullptr) {
        return missing_parent(node, losses_ != nullptr && losses_->size() < kMostLosses);
    }
    const auto above = [](const Node* at) -> const Node* {
        return at->family != nullptr ? at->family->parent : nullptr;
    };
    const auto limits = [](const Node* at) { return at->limits; };
    const Chain chain = walk_chain<const Node*>(&node, above, limits);
    const bool limits_only = chain.fault == ChainFault::too_many_limits ||
                             chain.fault == ChainFault::too_many_concurrency;
    if (chain.fault && !limits_only) {
        return chain_error(node.name(), *chain.fault);
    }
    if (const Node* const parent = above(&node); parent != nullptr && !parent->valid) {
        return idle_parent_error(node.name(), parent->name());
    }
    if (limits_only) {
        return chain_error(node.name(), *chain.fault);
    }
    WEIR_ASSERT(chain.ancestors < kDepths && chain.limits <= limiter::kMaxChainLimits);
    node.depth = static_cast<std::uint8_t>(chain.ancestors);
    node.chain_limits = static_cast<std::uint8_t>(chain.limits);
    node.chain_concurrency = static_cast<std::uint8_t>(chain.concurrency);
    return std::nullopt;
}

DefinitionError DefinitionTree::explain(const Node& node) const {
    WEIR_ASSERT(!node.valid && node.problem != nullptr);
    const bool missing = node.family != nullptr && node.family->parent == nullptr;
    return missing && !node.own_problem ? missing_parent(node, true) : *node.problem;
}

/// The error of a quota without parent. A suggestion is only looked for when the error is shown
/// now, because a million quotas may lack the same parent.
DefinitionError DefinitionTree::missing_parent(const Node& node, bool suggest) const {
    WEIR_ASSERT(node.family != nullptr && node.family->parent == nullptr);
    const SameParent& family = *node.family;
    DefinitionError error = missing_parent_error(node.name(), *family.text);
    if (!suggest) {
        return error;
    }
    // The nearest ones first, because the search ends when its letters are used up.
    std::vector<std::string_view> names;
    auto above = nodes_.lower_bound(*family.text);
    auto below = above;
    for (std::size_t i = 0; i < kNamesAround; ++i) {
        if (below != nodes_.begin()) {
            names.push_back((--below)->name());
        }
        if (above != nodes_.end()) {
            names.push_back((above++)->name());
        }
    }
    std::size_t letters_left = kLettersForOneSuggestion;
    error.suggestion = did_you_mean(closest(*family.text, names, letters_left));
    return error;
}

void DefinitionTree::queue_children(const Node& node) {
    if (!node.pattern) {
        if (const auto family = families_.find(std::string(node.name()));
            family != families_.end()) {
            queue_family(*family->second);
        }
    } else if (const auto alike = families_by_shape_.find(*template_shape_of(node.name()));
               alike != families_by_shape_.end()) {
        for (SameParent* family : alike->second) {
            queue_family(*family);
        }
    }
    if (node.pattern) {
        for (SameParent* family : orphan_families_) {
            if (family->parent == &node) {
                queue_family(*family);
            }
        }
    }
}

void DefinitionTree::queue_family(SameParent& family) {
    for (Node* child = family.first; child != nullptr; child = child->after) {
        WEIR_ASSERT(child->family == &family);
        queue_.push_back(child);
    }
}

/// Adds the reason why the definition is not in force to the watched list. A problem that it has by
/// itself has been added already; a missing parent is then added as well.
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

}  // namespace weir::definitions
