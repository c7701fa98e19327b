#pragma once
// A fixed number of zeroed elements, cache-line aligned, of which memory is only touched as they
// are used (the C library maps large zeroed blocks lazily). Elements must be valid as all zeros
// and need no destructor. As thread-safe as its elements; owned by whoever holds it.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "base/assert.h"

namespace weir::limiter {

template <class T>
class LazyArray {
  public:
    LazyArray() = default;
    explicit LazyArray(std::size_t size) : size_(size) {
        constexpr std::size_t kLine = 64;
        block_.reset(std::calloc(size * sizeof(T) + kLine, 1));
        WEIR_ASSERT(block_ != nullptr);
        const auto address = reinterpret_cast<std::uintptr_t>(block_.get());
        const std::size_t offset = (kLine - address % kLine) % kLine;
        void* aligned = static_cast<std::byte*>(block_.get()) + offset;
        data_ = static_cast<T*>(aligned);
        // Random access over tens of megabytes: half of the cost would be the page table's.
        constexpr std::size_t kHugePage = std::size_t{1} << 21;
        if (size * sizeof(T) >= 4 * kHugePage) {
            const std::uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
            const std::uintptr_t end = (address + size * sizeof(T)) / kHugePage * kHugePage;
            // A hint: without it everything works as well, only slower.
            (void)::madvise(static_cast<std::byte*>(block_.get()) + (begin - address), end - begin,
                            MADV_HUGEPAGE);
        }
    }

    [[nodiscard]] T& operator[](std::size_t index) { return data_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return data_[index]; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    static_assert(std::is_trivially_destructible_v<T>);
    struct Free {
        void operator()(void* block) const { std::free(block); }
    };
    std::unique_ptr<void, Free> block_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace weir::limiter
