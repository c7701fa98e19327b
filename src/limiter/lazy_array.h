#pragma once
// An array with a fixed number of zeroed elements, aligned to cache lines. The system provides its
// memory only as elements are used. Elements must be valid as all zeros and need no destructor. As
// thread-safe as its elements; owned by whoever holds it.
//
// A large array is a memory mapping of its own that begins at a boundary of huge pages and asks for
// huge pages: with small ones, half of the cost of random access over tens of megabytes would be
// that of the page table. The allocator of the C library would place it among freed memory, in
// small pages.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "base/assert.h"

namespace weir::limiter {

struct FreeLazyBlock {
    std::size_t mapped = 0;  // bytes; 0 = from the C library
    void operator()(void* memory) const {
        if (mapped == 0) {
            std::free(memory);
        } else {
            (void)::munmap(memory, mapped);
        }
    }
};

/// A block of zeroed memory, from a mapping or from the C library.
class LazyBlock {
  public:
    LazyBlock() = default;
    explicit LazyBlock(std::size_t bytes) {
        if (bytes >= kLeastMapped) {
            map((bytes + kHugePage - 1) / kHugePage * kHugePage);
            return;
        }
        memory_.reset(std::calloc(bytes + kLine, 1));
        WEIR_ASSERT(memory_ != nullptr);
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        data_ = static_cast<std::byte*>(memory_.get()) + (kLine - address % kLine) % kLine;
        WEIR_ASSERT(reinterpret_cast<std::uintptr_t>(data_) % kLine == 0);
    }
    [[nodiscard]] void* data() const { return data_; }

  private:
    static constexpr std::size_t kLine = 64;
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;
    static constexpr std::size_t kLeastMapped = 4 * kHugePage;

    void map(std::size_t bytes) {
        // More than is asked for, so that the start can be aligned. Memory that is not touched
        // costs nothing.
        const std::size_t mapped = bytes + kHugePage;
        void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        WEIR_ASSERT(memory != MAP_FAILED);
        memory_ = {memory, FreeLazyBlock{mapped}};
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        data_ = static_cast<std::byte*>(memory) + (kHugePage - address % kHugePage) % kHugePage;
        WEIR_ASSERT(reinterpret_cast<std::uintptr_t>(data_) % kHugePage == 0);
        // A hint: without it everything works as well, only slower.
        (void)::madvise(data_, bytes, MADV_HUGEPAGE);
    }

    std::unique_ptr<void, FreeLazyBlock> memory_;
    void* data_ = nullptr;
};

template <class T>
class LazyArray {
  public:
    LazyArray() = default;
    explicit LazyArray(std::size_t size)
        : block_(size * sizeof(T)), data_(static_cast<T*>(block_.data())), size_(size) {}

    [[nodiscard]] T& operator[](std::size_t index) { return data_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return data_[index]; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    static_assert(std::is_trivially_destructible_v<T>);
    LazyBlock block_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace weir::limiter
