#pragma once
// A short text that never changes and that its copies share. It is as large as a pointer, where a
// std::string has 32 bytes besides a block for all but the shortest texts: of a million definitions
// most name one of few parents.
//
// Thread-safety: as that of std::shared_ptr. Copies may be used and dropped on different threads.
// Ownership: the last copy frees the block.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace weir::limiter {

class SharedText {
  public:
    SharedText() = default;
    explicit SharedText(std::string_view text) {
        if (text.empty()) {
            return;
        }
        WEIR_ASSERT(text.size() <= std::numeric_limits<std::uint16_t>::max());
        void* const memory = ::operator new(sizeof(Block) + text.size());
        block_ = new (memory) Block{{1}, static_cast<std::uint16_t>(text.size())};
        std::copy(text.begin(), text.end(), reinterpret_cast<char*>(block_ + 1));
    }
    SharedText(const SharedText& other) : block_(other.block_) {
        if (block_ != nullptr) {
            block_->copies.fetch_add(1, std::memory_order_relaxed);
        }
    }
    SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    SharedText& operator=(SharedText other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~SharedText() {
        if (block_ != nullptr && block_->copies.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            block_->~Block();
            ::operator delete(block_);
        }
    }

    [[nodiscard]] bool empty() const { return block_ == nullptr; }
    [[nodiscard]] std::string_view view() const {
        if (block_ == nullptr) {
            return {};
        }
        return {reinterpret_cast<const char*>(block_ + 1), block_->size};
    }

  private:
    /// Stands before the bytes of the text, in one block of memory with them.
    struct Block {
        std::atomic<std::uint32_t> copies;
        std::uint16_t size;
    };
    Block* block_ = nullptr;
};

}  // namespace weir::limiter
