#include "net/task.h"

#include <array>
#include <new>

namespace weir::net {
namespace {

constexpr std::size_t kStep = 128;
constexpr std::size_t kClasses = 16;   // of frames up to 2 KiB
constexpr std::size_t kMaxFree = 256;  // free blocks that are kept of each class

struct FreeBlock {
    FreeBlock* next;
};

struct FreeLists {
    std::array<FreeBlock*, kClasses> first{};
    std::array<std::size_t, kClasses> count{};

    ~FreeLists() {
        for (std::size_t i = 0; i < kClasses; ++i) {
            while (first[i] != nullptr) {
                FreeBlock* next = first[i]->next;
                ::operator delete(first[i]);
                first[i] = next;
            }
        }
    }
};

thread_local FreeLists free_lists;

}  // namespace

void* FramePool::allocate(std::size_t bytes) {
    const std::size_t index = (bytes + kStep - 1) / kStep - 1;
    if (index >= kClasses) {
        return ::operator new(bytes);
    }
    FreeBlock* block = free_lists.first[index];
    if (block == nullptr) {
        return ::operator new((index + 1) * kStep);
    }
    free_lists.first[index] = block->next;
    --free_lists.count[index];
    return block;
}

void FramePool::release(void* frame, std::size_t bytes) noexcept {
    const std::size_t index = (bytes + kStep - 1) / kStep - 1;
    if (index >= kClasses || free_lists.count[index] >= kMaxFree) {
        ::operator delete(frame);
        return;
    }
    free_lists.first[index] = new (frame) FreeBlock{free_lists.first[index]};
    ++free_lists.count[index];
}

}  // namespace weir::net
