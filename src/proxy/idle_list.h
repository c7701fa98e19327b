#pragma once
// Client connections of one worker that are closed to make room at the bound of connections, in the
// order in which they were added: those that wait for a request of which nothing has come, or those
// of which only part of a head has come. The list is intrusive and allocates nothing; not
// thread-safe. It borrows its nodes: a node is in one list at a time, and must be removed before it
// is destroyed.

#include <cstddef>

#include "base/instant.h"

namespace weir::proxy {

class IdleList;

class IdleNode {
  private:
    friend class IdleList;
    IdleNode* before_ = nullptr;
    IdleNode* behind_ = nullptr;
    Instant from_{};  ///< from this instant on it may be closed
    bool listed_ = false;
};

class IdleList {
  public:
    /// closable() looks at no more connections than this.
    static constexpr std::size_t kMostSeen = 64;

    /// Adds a connection that may be closed from `from` on.
    void add(IdleNode& node, Instant from) {
        node.from_ = from;
        node.before_ = last_;
        node.behind_ = nullptr;
        node.listed_ = true;
        (last_ == nullptr ? first_ : last_->behind_) = &node;
        last_ = &node;
    }
    /// Adds it unless it is in the list already, where it then keeps its place.
    void add_once(IdleNode& node, Instant from) {
        if (!node.listed_) {
            add(node, from);
        }
    }
    void remove(IdleNode& node) {
        if (!node.listed_) {
            return;
        }
        (node.before_ == nullptr ? first_ : node.before_->behind_) = node.behind_;
        (node.behind_ == nullptr ? last_ : node.behind_->before_) = node.before_;
        node.listed_ = false;
    }
    /// The connection that has been idle for longest among those that may be closed now, or
    /// nullptr.
    [[nodiscard]] IdleNode* closable(Instant now) const {
        std::size_t seen = 0;
        for (auto* node = first_; node != nullptr && seen < kMostSeen; node = node->behind_) {
            if (node->from_ <= now) {
                return node;
            }
            ++seen;
        }
        return nullptr;
    }

  private:
    IdleNode* first_ = nullptr;
    IdleNode* last_ = nullptr;
};

}  // namespace weir::proxy
