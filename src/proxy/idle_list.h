#pragma once
// The client connections of one worker that wait for a request of which nothing has come, the
// longest waiting first: at the bound of connections these make room. Intrusive, no allocation,
// not thread-safe. A node must have left before it is destroyed.

#include <cstddef>

#include "base/instant.h"

namespace weir::proxy {

class IdleList;

class IdleNode {
  private:
    friend class IdleList;
    IdleNode* before_ = nullptr;
    IdleNode* behind_ = nullptr;
    Instant from_{};  ///< since then it may be closed
    bool listed_ = false;
};

class IdleList {
  public:
    /// A look for one that may be closed does not go further than this.
    static constexpr std::size_t kMostSeen = 64;

    /// It may be closed from `from` on.
    void add(IdleNode& node, Instant from) {
        node.from_ = from;
        node.before_ = last_;
        node.behind_ = nullptr;
        node.listed_ = true;
        (last_ == nullptr ? first_ : last_->behind_) = &node;
        last_ = &node;
    }
    void remove(IdleNode& node) {
        if (!node.listed_) {
            return;
        }
        (node.before_ == nullptr ? first_ : node.before_->behind_) = node.behind_;
        (node.behind_ == nullptr ? last_ : node.behind_->before_) = node.before_;
        node.listed_ = false;
    }
    /// The longest idle one that may be closed now, or nullptr.
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
