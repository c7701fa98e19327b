// The part of DefinitionTree that turns the difference between the tree and what the limiter has
// into steps for the limiter.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/tree.h"

namespace weir::definitions {

void DefinitionTree::hand_out(Node& node) {
    const bool same = node.given && node.given_hash == node.hash;
    const bool differs = node.valid ? !same : node.given;
    if (node.waiting || !differs) {
        return;
    }
    WEIR_ASSERT(node.depth < kDepths && !node.dead);
    node.waiting = true;
    puts_[node.depth].push_back(&node);
    ++waiting_;
}

std::vector<DefinitionTree::PendingChange> DefinitionTree::take(std::size_t budget) {
    std::vector<PendingChange> steps;
    if (waiting_ == 0) {
        return steps;
    }
    take_puts(budget, steps);
    const auto empty = [](const auto& list) { return list.empty(); };
    if (std::all_of(puts_.begin(), puts_.end(), empty)) {
        take_erases(budget, steps);
    }
    WEIR_ASSERT(steps.size() <= budget);
    return steps;
}

void DefinitionTree::take_puts(std::size_t budget, std::vector<PendingChange>& steps) {
    for (std::size_t depth = 0; depth < kDepths; ++depth) {
        std::deque<Node*>& list = puts_[depth];
        while (!list.empty() && steps.size() < budget) {
            Node* const node = list.front();
            list.pop_front();
            WEIR_ASSERT(node->waiting && waiting_ > 0);
            --waiting_;
            node->waiting = false;
            if (node->dead) {
                const std::size_t erased = removed_nodes_.erase(node);
                WEIR_ASSERT(erased == 1);
            } else if (node->valid && node->depth > depth) {
                hand_out(*node);
            } else if (node->valid) {
                if (!node->given || node->given_hash != node->hash) {
                    std::string name(node->name());
                    gone_.erase(name);
                    steps.push_back({std::move(name), true, node->hash});
                }
                node->given = true;
                node->given_hash = node->hash;
            } else if (node->given) {
                node->given = false;
                std::string name(node->name());
                gone_[name] = {node->given_hash, node->depth};
                erases_[node->depth].push_back(std::move(name));
                ++waiting_;
            }
        }
        if (steps.size() >= budget) {
            return;
        }
    }
}

void DefinitionTree::take_erases(std::size_t budget, std::vector<PendingChange>& steps) {
    for (std::size_t depth = kDepths; depth-- > 0 && steps.size() < budget;) {
        std::vector<std::string>& list = erases_[depth];
        while (!list.empty() && steps.size() < budget) {
            if (gone_.erase(list.back()) > 0) {
                steps.push_back({std::move(list.back()), false, 0});
            }
            list.pop_back();
            WEIR_ASSERT(waiting_ > 0);
            --waiting_;
        }
    }
}

}  // namespace weir::definitions
