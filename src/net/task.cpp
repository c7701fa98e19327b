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

/// Without a constructor or destructor of its own, so that no access has to ask whether the thread
/// has it already.
struct FreeLists {
    std::array<FreeBlock*, kClasses> first;
    std::array<std::size_t, kClasses> count;
    bool freed_at_end;  // whether the thread's end gives the blocks back
};

constinit thread_local FreeLists free_lists{};

/// Gives a thread's free blocks back when it ends. What is released later is not kept.
struct FreeAtEnd {
    ~FreeAtEnd() {
        for (std::size_t i = 0; i < kClasses; ++i) {
            while (free_lists.first[i] != nullptr) {
                FreeBlock* const next = free_lists.first[i]->next;
                ::operator delete(free_lists.first[i]);
                free_lists.first[i] = next;
            }
            free_lists.count[i] = kMaxFree;
        }
    }
};

[[gnu::noinline, gnu::cold]] void free_at_end() {
    thread_local const FreeAtEnd at_end;
    free_lists.freed_at_end = true;
}

}  // namespace

void* FramePool::allocate(std::size_t bytes) {
    const std::size_t index = (bytes + kStep - 1) / kStep - 1;
    if (index >= kClasses) [[unlikely]] {
        return ::operator new(bytes);
    }
    FreeLists& lists = free_lists;
    FreeBlock* const block = lists.first[index];
    if (block == nullptr) [[unlikely]] {
        return ::operator new((index + 1) * kStep);
    }
    lists.first[index] = block->next;
    --lists.count[index];
    return block;
}

void FramePool::release(void* frame, std::size_t bytes) noexcept {
    const std::size_t index = (bytes + kStep - 1) / kStep - 1;
    FreeLists& lists = free_lists;
    if (index >= kClasses || lists.count[index] >= kMaxFree) [[unlikely]] {
        ::operator delete(frame);
        return;
    }
    if (!lists.freed_at_end) [[unlikely]] {
        free_at_end();
    }
    lists.first[index] = new (frame) FreeBlock{lists.first[index]};
    ++lists.count[index];
}

}  // namespace weir::net
