#pragma once
// A queue of the ids of records that wait for their turn. An id is in the queue at most once. An
// empty queue takes no memory. Not thread-safe; owned by whoever holds it.

#include <cstdint>
#include <deque>
#include <vector>

#include "base/assert.h"

namespace weir::limiter {

class IdQueue {
  public:
    /// Appends the id, unless it is in the queue already.
    void push(std::uint32_t id) {
        if (id >= waits_.size()) {
            waits_.resize(id + std::size_t{1}, false);
        }
        if (!waits_[id]) {
            waits_[id] = true;
            ids_.push_back(id);
        }
        WEIR_ASSERT(!ids_.empty());
    }
    /// Takes the id that has waited for longest. The queue must not be empty.
    [[nodiscard]] std::uint32_t pop() {
        WEIR_ASSERT(!ids_.empty());
        const std::uint32_t id = ids_.front();
        WEIR_ASSERT(waits_[id]);
        ids_.pop_front();
        waits_[id] = false;
        if (ids_.empty()) {
            waits_ = {};
        }
        return id;
    }
    [[nodiscard]] std::size_t size() const { return ids_.size(); }

  private:
    std::deque<std::uint32_t> ids_;
    std::vector<bool> waits_;  // by id
};

}  // namespace weir::limiter
